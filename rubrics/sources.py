"""Published works that a rubric or an interval rests on, with what a bibliography needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

_MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class Source:
    """A published work, as an entry of a bibliography.

    `authors` are each "Family, Given", or a body's name in braces; `is_longer` says that there are
    more than those named. `fields` are further ones of BibTeX, such as `journal`, `booktitle`,
    `doi` and `eprint` (of arXiv). Raises ValueError for one without an author.
    """

    key: str
    kind: Literal["article", "book", "inproceedings", "misc"]
    title: str
    authors: tuple[str, ...]
    year: int
    fields: Mapping[str, str] = field(default_factory=dict)
    is_longer: bool = False

    def __post_init__(self) -> None:
        if not self.authors:
            raise ValueError(f"the source {self.key!r} has no author")

    @property
    def short(self) -> str:
        """Up to three authors and the year as they stand in a sentence: "Chen and Cherry 2014"."""
        names = [name.partition(",")[0].strip("{}") for name in self.authors]
        if self.is_longer or len(names) > _MOST_NAMED:
            return f"{names[0]} et al. {self.year}"
        *others, last = names
        return f"{', '.join(others)}{' and ' if others else ''}{last} {self.year}"

    @property
    def bibtex(self) -> str:
        """The entry for BibTeX; its title keeps its capitals in every style."""
        authors = [*self.authors, *(["others"] if self.is_longer else [])]
        fields = {
            "title": f"{{{self.title}}}",
            "author": " and ".join(authors),
            "year": str(self.year),
            **self.fields,
        }
        if "eprint" in fields:
            fields["archiveprefix"] = "arXiv"
        lines = [
            f"  {name} = {{{value.replace('&', chr(92) + '&')}}}," for name, value in fields.items()
        ]
        return "\n".join([f"@{self.kind}{{{self.key},", *lines, "}"])


OSTMEIER_2024 = Source(
    "ostmeier2024green",
    "inproceedings",
    "GREEN: Generative Radiology Report Evaluation and Error Notation",
    (
        *("Ostmeier, Sophie", "Xu, Justin", "Chen, Zhihong", "Varma, Maya"),
        *("Blankemeier, Louis", "Bluethgen, Christian", "Michalson, Arne Edward"),
        *("Moseley, Michael", "Langlotz, Curtis", "Chaudhari, Akshay S."),
        "Delbrouck, Jean-Benoit",
    ),
    2024,
    {
        "booktitle": "Findings of the Association for Computational Linguistics: EMNLP 2024",
        "pages": "374--390",
        "doi": "10.18653/v1/2024.findings-emnlp.21",
        "eprint": "2405.03595",
    },
)
HUANG_2024 = Source(
    "huang2024fineradscore",
    "misc",
    "FineRadScore: A Radiology Report Line-by-Line Evaluation Technique Generating Corrections "
    "with Severity Scores",
    (
        *("Huang, Alyssa", "Banerjee, Oishi", "Wu, Kay", "Reis, Eduardo Pontes"),
        "Rajpurkar, Pranav",
    ),
    2024,
    {"eprint": "2405.20613"},
)
ZHANG_2024 = Source(
    "zhang2024rexrank",
    "misc",
    "ReXrank: A Public Leaderboard for AI-Powered Radiology Report Generation",
    (
        *("Zhang, Xiaoman", "Zhou, Hong-Yu", "Yang, Xiaoli", "Banerjee, Oishi"),
        *("Acosta, Julián N.", "Miller, Josh", "Huang, Ouwen", "Rajpurkar, Pranav"),
    ),
    2024,
    {"eprint": "2411.15122"},
)
ZAMBRANO_CHAVES_2024 = Source(
    "zambranochaves2024chexprompt",
    "misc",
    "Towards a clinically accessible radiology foundation model: open-access and lightweight, "
    "with automated evaluation",
    (
        *("Zambrano Chaves, Juan Manuel", "Huang, Shih-Cheng", "Xu, Yanbo", "Xu, Hanwen"),
        *("Usuyama, Naoto", "Zhang, Sheng"),
    ),
    2024,
    {"eprint": "2403.08002"},
    is_longer=True,
)
BAHAROON_2026 = Source(
    "baharoon2026crimson",
    "misc",
    "CRIMSON: A Clinically-Grounded LLM-Based Metric for Generative Radiology Report Evaluation",
    (
        *("Baharoon, Mohammed", "Heintz, Thibault", "Raissi, Siavash", "Alabbad, Mahmoud"),
        *("Alhammad, Mona", "AlOmaish, Hassan", "Kim, Sung Eun", "Banerjee, Oishi"),
        "Rajpurkar, Pranav",
    ),
    2026,
    {"eprint": "2603.06183"},
)
BANNUR_2024 = Source(
    "bannur2024maira2",
    "misc",
    "MAIRA-2: Grounded Radiology Report Generation",
    ("Bannur, Shruthi", "Bouzid, Kenza", "Castro, Daniel C.", "Schwaighofer, Anton"),
    2024,
    {"eprint": "2406.04449"},
    is_longer=True,
)
XIE_2024 = Source(
    "xie2024doclens",
    "inproceedings",
    "DocLens: Multi-aspect Fine-grained Medical Text Evaluation",
    (
        *("Xie, Yiqing", "Zhang, Sheng", "Cheng, Hao", "Liu, Pengfei", "Gero, Zelalem"),
        *("Wong, Cliff", "Naumann, Tristan", "Poon, Hoifung", "Rose, Carolyn"),
    ),
    2024,
    {
        "booktitle": "Proceedings of the 62nd Annual Meeting of the Association for Computational "
        "Linguistics",
        "eprint": "2311.09581",
    },
)
MIN_2023 = Source(
    "min2023factscore",
    "inproceedings",
    "FActScore: Fine-grained Atomic Evaluation of Factual Precision in Long Form Text Generation",
    (
        *("Min, Sewon", "Krishna, Kalpesh", "Lyu, Xinxi", "Lewis, Mike", "Yih, Wen-tau"),
        *("Koh, Pang Wei", "Iyyer, Mohit", "Zettlemoyer, Luke", "Hajishirzi, Hannaneh"),
    ),
    2023,
    {
        "booktitle": "Proceedings of the 2023 Conference on Empirical Methods in Natural Language "
        "Processing",
        "pages": "12076--12100",
        "doi": "10.18653/v1/2023.emnlp-main.741",
        "eprint": "2305.14251",
    },
)
WILSON_1927 = Source(
    "wilson1927probable",
    "article",
    "Probable Inference, the Law of Succession, and Statistical Inference",
    ("Wilson, Edwin B.",),
    1927,
    {
        "journal": "Journal of the American Statistical Association",
        "volume": "22",
        "number": "158",
        "pages": "209--212",
        "doi": "10.1080/01621459.1927.10502953",
    },
)
EFRON_1993 = Source(
    "efron1993bootstrap",
    "book",
    "An Introduction to the Bootstrap",
    ("Efron, Bradley", "Tibshirani, Robert J."),
    1993,
    {"publisher": "Chapman & Hall", "doi": "10.1007/978-1-4899-4541-9"},
)
DUCHI_2023 = Source(
    "angelopoulos2023ppipp",
    "misc",
    "PPI++: Efficient Prediction-Powered Inference",
    ("Angelopoulos, Anastasios N.", "Duchi, John C.", "Zrnic, Tijana"),
    2023,
    {"eprint": "2311.01453"},
)
ANGELOPOULOS_2023 = Source(
    "angelopoulos2023ppi",
    "article",
    "Prediction-Powered Inference",
    (
        *("Angelopoulos, Anastasios N.", "Bates, Stephen", "Fannjiang, Clara"),
        *("Jordan, Michael I.", "Zrnic, Tijana"),
    ),
    2023,
    {
        "journal": "Science",
        "volume": "382",
        "number": "6671",
        "pages": "669--674",
        "doi": "10.1126/science.adi6000",
        "eprint": "2301.09633",
    },
)
KRIPPENDORFF_2011 = Source(
    "krippendorff2011alpha",
    "misc",
    "Computing Krippendorff's Alpha-Reliability",
    ("Krippendorff, Klaus",),
    2011,
    {"howpublished": "Annenberg School for Communication, University of Pennsylvania"},
)
