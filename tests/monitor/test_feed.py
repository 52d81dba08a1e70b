"""Which record of a feed counts, and what waits."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from feeds import CLEAN, MISSED, day_of, record, written

from judge.monitoring.feed import (
    Feed,
    FeedSettings,
    new_studies,
    parsed_date,
    read_feed,
)
from judge.studies import NamedFields
from judge.types import JudgeError

SETTINGS = FeedSettings(until=date(2026, 12, 31))


def feed_of(path: Path, *records: dict[str, object], **known: str) -> Feed:
    return read_feed(str(written(path, records)), SETTINGS, known)


def test_the_later_record_of_a_study_counts_and_stays_in_its_week(
    tmp_path: Path,
) -> None:
    feed = feed_of(
        tmp_path / "feed.json",
        record("a", 3, signed="Addendum. No effusion."),
        record("a", 1),
        record("b", 2, site="north"),
        record("b", 2, site="south"),
    )
    assert list(feed.records.index) == ["a", "b"]
    assert feed.n_replaced == 2
    # By date, whatever the order in the file; of one date the one that is read later.
    assert feed.records.loc["a", "signed"] == "Addendum. No effusion."
    assert feed.records.loc["b", "site"] == "south"
    assert list(feed.records["date"]) == [day_of(1), day_of(2)]
    # What was judged before keeps an earlier date.
    again = feed_of(tmp_path / "feed.json", record("a", 3), a=day_of(0))
    assert list(again.records["date"]) == [day_of(0)]


def test_what_cannot_be_judged_is_counted_by_reason(tmp_path: Path) -> None:
    feed = feed_of(
        tmp_path / "feed.json",
        record("ready"),
        record("unsigned", signed=None),
        record("blank", signed=" "),
        record("undrafted", draft=None),
        record("empty", draft=""),
        record("undated", date="5 January"),
        record("later", date="2027-01-01"),
        record("known"),
    )
    assert feed.no_date == ("undated",)
    assert feed.later == ("later",)
    judged = {"known": feed.records.loc["known", "feed_record"]}
    new = new_studies(feed, SETTINGS, judged)
    assert new.studies is not None
    assert new.studies.study_ids == ("ready",)
    assert new.studies.candidates == (CLEAN,)
    assert new.unsigned == ("unsigned", "blank")
    assert new.undrafted == ("undrafted", "empty")
    # A changed record is new again, and an equal one is not.
    changed = feed_of(tmp_path / "feed.json", record("known", draft=MISSED))
    assert new_studies(changed, SETTINGS, judged).studies is not None
    same = feed_of(tmp_path / "feed.json", record("known", extra=None))
    assert new_studies(same, SETTINGS, judged).studies is None


def test_a_folder_is_read_in_the_order_of_names(tmp_path: Path) -> None:
    folder = tmp_path / "feed"
    (folder / "2026").mkdir(parents=True)
    written(folder / "2026" / "b.json", [record("a", signed="Small right effusion.")])
    (folder / "2026" / "a.csv").write_text(
        f"id,date,draft,signed\na,{day_of(0)},{CLEAN},{CLEAN}\nb,{day_of(0)},{CLEAN},\n"
    )
    (folder / ".half-written.json").write_text("{")
    (folder / "notes.md").write_text("no table")
    (folder / "quiet.csv").write_text("id,date,draft,signed\n")
    (folder / "quiet.json").write_text("[]\n")
    feed = read_feed(str(folder), SETTINGS, {})
    assert feed.records.loc["a", "signed"] == "Small right effusion."
    assert sorted(feed.records.index) == ["a", "b"]
    assert [Path(file.path).name for file in feed.files] == ["a.csv", "b.json"]
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(JudgeError, match="no file with a record"):
        read_feed(str(empty), SETTINGS, {})


def test_fields_have_usual_names_or_those_that_the_user_names(tmp_path: Path) -> None:
    path = written(
        tmp_path / "feed.json",
        [
            {
                "accession": 1,
                "study_date": "20260105",
                "model_version": 2.0,
                "hospital": 7,
                "version": "other",
                "ai": CLEAN,
                "report": CLEAN,
            }
        ],
    )
    settings = FeedSettings(
        until=date(2026, 12, 31),
        fields=NamedFields(candidate="ai"),
        roles={"version": "model_version"},
    )
    feed = read_feed(str(path), settings, {})
    (row,) = feed.records.to_dict("records")
    assert (row["date"], row["version"], row["site"]) == ("2026-01-05", "2", "7")
    assert row["field_version"] == "other"
    with pytest.raises(JudgeError, match="--column site"):
        read_feed(str(path), FeedSettings(SETTINGS.until, roles={"site": "ward"}), {})


def test_a_feed_without_dates_is_refused(tmp_path: Path) -> None:
    with pytest.raises(JudgeError, match="--column date=FIELD"):
        feed_of(tmp_path / "feed.json", {"id": 1, "draft": CLEAN, "signed": CLEAN})
    with pytest.raises(JudgeError, match=r"such as '31\.05\.2026'"):
        feed_of(tmp_path / "feed.json", record("a", date="31.05.2026"))


def test_dates_are_those_of_iso_8601() -> None:
    day = date(2026, 5, 31)
    for value in (
        "2026-05-31",
        "20260531",
        20260531,
        "2026-05-31T23:59:00Z",
        "2026-05-31 08:00:00",
        day,
    ):
        assert parsed_date(value) == day
    for value in (None, True, "", "31/05/2026", "yesterday", 3.5):
        assert parsed_date(value) is None
