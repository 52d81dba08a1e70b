"""Statements of normality: what a list of abnormal findings has no place for.

Only whole statements of the plain forms are recognised ("No pneumothorax", "Lungs are clear",
"Normal heart size"). One that also says something else ("Lungs clear but for a nodule"), is about a
change ("No change of the effusion") or denies something healthy ("No lung markings") is none.
"""

from __future__ import annotations

import re

_EXCEPT = re.compile(
    r"\b(?:but|except\w*|other than|apart from|aside from|besides|however|although|though|while"
    r"|unless|beyond|cannot|suspicious|concerning|possibl[ey]|probabl[ey]|likely)\b"
)
# What follows one of these may be a second statement, which these words then show to be positive.
_NEXT = re.compile(r"[,;.:]|\b(?:and|with|which|where|in)\b")
_POSITIVE = re.compile(
    r"\b(?:tiny|trace|small|minimal|mild\w*|slight\w*|moderate\w*|large|severe\w*|extensive|old|new"
    r"|healed|chronic|stable|unchanged|persistent|residual|increas\w+|decreas\w+|worse\w*|improv\w+"
    r"|resol\w+|there|is|are|was|were|has|have|seen|present|status post|[0-9]+ ?[cm]m)\b"
)
_DENIES = re.compile(
    r"(?:there (?:is|are|was|were) )?(?:no|without|negative for|free of)\b(.*)"
)
_ABOUT_CHANGE = re.compile(
    r"\b(?:change[sd]?|improvement|worsening|progression|increase|decrease|resolution|longer"
    r"|difference|more than|less than)\b"
)
_HEALTHY = re.compile(
    r"\b(?:normal|markings|aeration|flow|enhancement|perfusion|visuali[sz]ation|uptake|motion"
    r"|excursion|bowel gas|filling|ventilation)\b"
)
_BODY = (
    r"(?:heart|cardiac|cardiomediastinal|mediastin\w+|aort\w+|lungs?|pulmonary|pleura\w*|hilar|hila"
    r"|bon[ey]s?|bony|osseous|skelet\w+|ribs?|spine|diaphragm\w*|hemidiaphragms?|costophrenic|soft"
    r"|trachea\w*|airways?|vascul\w+|vessels?|chest|thora\w+|abdom\w+|liver|spleen|kidneys?|breasts?"
    r"|study|examination|exam|radiograph|film|findings?|appearance|fields?|size|contours?"
    r"|silhouettes?|structures?|tissues?|volumes?|parenchyma|bases?|apices|spaces?|angles?"
    r"|sulci|left|right|both|bilateral|upper|lower|the|and|or|of|for|age|in|all|visuali[sz]ed)"
)
_NORMAL = r"(?:normal|unremarkable|clear|within normal limits)"
_LEADS = re.compile(
    rf"(?:the )?(?:entirely |grossly |otherwise )?{_NORMAL}(?: {_BODY})+"
)
_FOLLOWS = re.compile(
    rf"{_BODY}(?: {_BODY})*(?: (?:is|are|was|were|appears?|remains?|looks?))?"
    rf"(?: (?:entirely|grossly|otherwise|also|both|again))?"
    rf" (?:{_NORMAL}(?: (?:in|for) (?:size|shape|contour|caliber|appearance|limits|age))?"
    r"|not enlarged|without abnormality)"
)


def is_normal(text: str) -> bool:
    """Return whether `text` is a statement of normality and nothing besides."""
    words = " ".join(text.casefold().split()).strip(" .;,-")
    if _EXCEPT.search(words):
        return False
    denial = _DENIES.fullmatch(words)
    if denial:
        return _denies_abnormality(denial[1])
    plain = " ".join(re.findall(r"[\w-]+", words))
    return _LEADS.fullmatch(plain) is not None or _FOLLOWS.fullmatch(plain) is not None


def _denies_abnormality(denied: str) -> bool:
    if _ABOUT_CHANGE.search(denied) or _HEALTHY.search(denied):
        return False
    later = _NEXT.search(denied)
    return later is None or _POSITIVE.search(denied, later.end()) is None
