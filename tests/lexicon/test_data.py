import re
import subprocess
import sys
from pathlib import Path

import pytest

from judge.backends.lexicon import compare, load
from judge.backends.lexicon import data as data_module
from judge.types import JudgeError

DEFAULT = Path(data_module.__file__).with_name("lexicon.yaml")
TEXT = DEFAULT.read_text(encoding="utf-8")


def write(folder, text):
    path = folder / "own.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_version_names_the_data_and_changes_with_them(tmp_path):
    version = load().version
    assert re.fullmatch(r"lexicon-4\+[0-9a-f]{8}", version)
    assert load(write(tmp_path, TEXT)).version == version
    changed = tmp_path / "changed.yaml"
    changed.write_text(TEXT + "\n# a remark\n", encoding="utf-8")
    assert load(changed).version != version


def test_a_reader_can_add_a_word(tmp_path):
    added = TEXT.replace('words: ["cardiomegaly|', 'words: ["bovinheart|cardiomegaly|')
    assert added != TEXT
    lexicon = load(write(tmp_path, added))
    assert not compare("Bovinheart.", "Cardiomegaly.", lexicon).discrepancies


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("sides:\n", "places_x:\n", "sides"),
        (
            "cardiomegaly:\n    {severity: 2",
            "cardiomegaly:\n    {severity: 7",
            "cardiomegaly",
        ),
        ("area: heart, sided", "area: hearts, sided", "'hearts' is not defined"),
        ("kind_of: [opacity]", "kind_of: [opacities]", "'opacities' is not defined"),
        ("atrium: [enlarged", "atrium: [enlarge", "'enlarge' is not defined"),
        (
            "graded: {moderate: 3, severe: 3}",
            "graded: {modest: 3}",
            "'modest' is not defined",
        ),
        ('images: ["', 'images: ["(", "', "own.yaml"),
        ("name: lexicon", "name: [lexicon", "own.yaml"),
    ],
)
def test_a_bad_entry_is_named_with_its_file(tmp_path, old, new, told):
    assert old in TEXT
    path = write(tmp_path, TEXT.replace(old, new, 1))
    with pytest.raises(JudgeError) as caught:
        load(path)
    assert told in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_missing_file_and_an_empty_one(tmp_path):
    for path in (tmp_path / "nowhere.yaml", write(tmp_path, "")):
        with pytest.raises(JudgeError, match=re.escape(str(path))):
            load(path)


def test_rules_need_nothing_heavy():
    code = (
        "import sys, judge.backends.lexicon.judge, judge.backends.lexicon.reports\n"
        "assert not {'pandas', 'numpy', 'pyarrow'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
