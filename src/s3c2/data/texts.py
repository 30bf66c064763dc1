"""Texts in a column of a table: tf-idf over the words that most texts hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import scipy.sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import normalize

from s3c2.data.columns import check_columns, column_names, read_text_columns
from s3c2.data.data import Data, Preparation, check_any_rows, check_lengths
from s3c2.data.scaling import Scaling
from s3c2.data.tables import id_column_of_new_data, read_ids
from s3c2.errors import DataError
from s3c2.naming import named

MOST_WORDS = 2000


@dataclass(frozen=True)
class TextPreparation(Preparation):
    """The words, in order, and each word's idf = ln((1 + n) / (1 + df)) + 1."""

    kind: ClassVar[str] = "text"
    text_column: str
    words: tuple[str, ...]
    idf: tuple[float, ...]
    id_column: str | None = None

    @property
    def prepared_shape(self) -> tuple[int, ...]:
        return (len(self.words),)

    @property
    def usual_scale(self) -> str:
        return "topics"

    def _check_lengths(self) -> None:
        check_lengths(len(self.words), idf=self.idf)

    @classmethod
    def learn(
        cls, path: Path, *, text_column: str, id_column: str | None, drop: Sequence[str]
    ) -> tuple[Data, TextPreparation]:
        """Choose the words of highest document frequency; ties go by the alphabet.

        Of the columns only the texts and the ids are read, so that there is nothing to drop; a
        name that the table does not have is refused all the same.
        """
        names = column_names(path)
        check_columns(path, [text_column], names, f"the {named('text_column')}")
        check_columns(path, [id_column] if id_column else [], names, f"the {named('id_column')}")
        check_columns(path, drop, names, f"the column to {named('drop')}")
        texts = _read_texts(path, text_column)
        check_any_rows(len(texts), path)
        try:
            counter = CountVectorizer(binary=True)
            holds = counter.fit_transform(texts)  # (texts, all words), 0 or 1
        except ValueError:  # scikit-learn: empty vocabulary
            raise DataError(
                f"{path}: column {text_column!r} holds no word of two letters or more; "
                f"expected texts."
            ) from None
        frequency = np.asarray(holds.sum(axis=0)).ravel()
        chosen = np.sort(np.argsort(-frequency, kind="stable")[:MOST_WORDS])
        idf = np.log((1 + len(texts)) / (1 + frequency[chosen])) + 1
        words = tuple(str(word) for word in counter.get_feature_names_out()[chosen])
        preparation = cls(text_column, words, tuple(idf.tolist()), id_column)
        ids = read_ids(path, id_column)
        return Data(preparation._vectors(texts), ids, texts), preparation

    def apply(
        self, path: Path, *, id_column: str | None = None, scaling: Scaling | None = None
    ) -> Data:
        """Weigh the words of ``fit`` in new texts."""
        names = column_names(path)
        check_columns(path, [self.text_column], names, "column")
        texts = _read_texts(path, self.text_column)
        check_any_rows(len(texts), path)
        ids = read_ids(path, id_column_of_new_data(path, names, id_column, self.id_column))
        return Data(self._vectors(texts), ids, texts)

    def _vectors(self, texts: list[str]) -> Any:
        """Rows of unit length times sqrt(words), so that a value is about 1; sparse."""
        counts = CountVectorizer(vocabulary=list(self.words)).transform(texts)
        weighed = normalize(counts @ scipy.sparse.diags(self.idf))
        return (weighed * np.sqrt(len(self.words))).tocsr().astype(np.float32)


def _read_texts(path: Path, column: str) -> list[str]:
    return [text or "" for text in read_text_columns(path, [column])[column]]
