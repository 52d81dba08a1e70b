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
    assert re.fullmatch(r"lexicon-3\+[0-9a-f]{8}", version)
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
        ("\nname:", "\nnames:", "unknown names"),
        ("sides:\n", "places_x:\n", "unknown places_x"),
        ("cardiomegaly:\n    {severity: 2", "cardiomegaly:\n    {severity: 7", "cardiomegaly"),
        ("area: heart, sided", "area: hearts, sided", "'hearts' is not defined"),
        ("kind_of: [opacity]", "kind_of: [opacities]", "'opacities' is not defined"),
        ("atrium: [enlarged", "atria: [enlarged", "'atria' is not defined"),
        ("{aorta: [calcified]}", "{aorta: [tortuous]}", "keep one of the two"),
        ("where: bone", "where: bones", "where 'bones'"),
        (
            "graded: {moderate: 3, severe: 3}",
            "graded: {modest: 3}",
            "graded: 'modest' is not defined",
        ),
        ("safe: [20, 65]", "safe: [65, 20]", "safe [65, 20]"),
        ("more_than: [effusion]", "more_than: [edema]", "edema is not in kind_of"),
        ('images: ["', 'images: ["(", "', "regular expressions"),
        ("right_words: [", "right_word: [", "unknown right_word"),
        ('"cardiomegaly|', '"cardiomegaly||', "empty choice"),
        ('words: ["cardiomegaly', 'words: ["heart?", "cardiomegaly', "may be empty"),
        ("borderline: [0, ", 'borderline: ["0", ', "severity: borderline"),
        ("  left: [", "  middle: [", "unknown middle"),
        ("name: lexicon", "name: [lexicon", "not YAML"),
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
    with pytest.raises(JudgeError, match="cannot be read"):
        load(tmp_path / "nowhere.yaml")
    with pytest.raises(JudgeError, match="not a table"):
        load(write(tmp_path, ""))


def test_rules_need_nothing_heavy():
    code = (
        "import sys, judge.backends.lexicon.judge, judge.backends.lexicon.reports\n"
        "assert not {'pandas', 'numpy', 'pyarrow'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
