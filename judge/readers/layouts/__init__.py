"""The layouts of readers' files, a module each; a new one is a module and a line in `LAYOUTS`."""

from __future__ import annotations

from judge.readers.layouts.radevalx import RADEVALX
from judge.readers.layouts.radpref import RADPREF
from judge.readers.layouts.refisco import REFISCO
from judge.readers.layouts.rexval import REXVAL
from judge.readers.layouts.tidy import TIDY

LAYOUTS = {layout.name: layout for layout in (TIDY, REXVAL, REFISCO, RADPREF, RADEVALX)}
"""The layouts by name, in the order in which messages list them."""
