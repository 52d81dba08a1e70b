"""Words that do not tell one finding from another."""

from __future__ import annotations

_OF_ANY_SENTENCE = """
a an the this that these those it its he she they of in on at to from for by with without
and or but nor not no is are was were be been being has have had do does did as than then
there here which who whose when where while whereas although though because so if also only
both either neither any all some each other another same such more most less least very into
onto over under within between through during before after again once can could may might
should would will must about against per via versus vs
"""

_OF_JUDGES = """
reference candidate report reports radiologist model prediction predicted generated
ground truth original text says say said states stated states mention mentions mentioned
mentioning describe describes described describing indicate indicates indicated report
reported reporting reports note notes noted suggest suggests suggested omit omits omitted
omission miss misses missed missing fail fails failed add adds added addition include includes
included finding findings error errors incorrect incorrectly wrong wrongly false falsely
correct correctly present presence absent absence instead however rather unlike contrast
different differs difference actual actually significant insignificant clinically severity
location size comparison line lines sentence statement
"""

_DESCRIBING = """
left right bilateral unilateral upper lower middle mid lateral medial anterior posterior
superior inferior apical basal basilar central peripheral small large tiny minimal mild
moderate severe marked extensive slight trace normal abnormal unremarkable stable unchanged
new old acute chronic increased decreased improved worsened worse better interval prior
previous current clear intact evidence seen identified visible visualized visualised likely
possible probable definite limits lung lungs chest side sided level region area areas zone
zones lobe lobes view views study studies examination exam image images radiograph
radiographs frontal mildly moderately severely slightly appears appear appearance
"""

COMMON = frozenset((_OF_ANY_SENTENCE + _OF_JUDGES).split())
"""Words that say nothing of a finding."""

MODIFIERS = frozenset(_DESCRIBING.split())
"""Words that describe a finding but do not name it."""
