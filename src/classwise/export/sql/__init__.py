"""Fitted models as SQL queries."""

from collections.abc import Sequence
from typing import Any

from classwise.errors import MissingExtraError


def to_sql(
    model: Any,
    table: str | Sequence[str],
    dialect: str = "duckdb",
    columns: Sequence[str] = (),
    output: str = "label",
    features: Sequence[str] | None = None,
) -> str:
    """A query that scores the rows of a table where they are, as the fitted model would; its text.

    Parameters
    ----------
    model : estimator
        An estimator, or a Decision about one. Of an AutoClassifier, members="sql" make short queries.
    table : str or sequence of str
        A name such as "people" or "main.people"; dots separate catalog, schema and table. Parts that have
        dots of their own come one by one: ("main", "odd.name"). To score the result of a query, make it a
        view.
    dialect : str, default="duckdb"
        "duckdb", "postgres", "sqlite", "spark", "bigquery", "snowflake", "mysql" or "tsql"; trees, and averages
        over the weights of several classes, are written for the first four.
    columns : sequence of str, default=()
        Those of the table to carry along, such as a key. They come first.
    output : str, default="label"
        "label" is what predict returns, in a column of that name. "posteriors" is predict_proba, in a
        column posterior_<label> for each label in their order. "scores" is predict_log_proba, in
        score_<label>. Where labels differ by case alone, the later ones have a number after them: posterior_A
        and posterior_a_2.
    features : sequence of str, optional
        What the model's columns are called in the table, if they had other names in fit, or none.

    Returns
    -------
    str
        The query.

    Notes
    -----
    All names are quoted, so they must be written as the engine stores them. NULL and NaN are missing values: they are
    integrated out. With full covariances of many columns, that is so for one of them or two in a row, and for gaps that
    rows of the fit had; where others are missing, the answer is NULL, and a last column, unanswered, says so, as do an
    UnansweredRowWarning and a comment at the top of the query. The same holds for the novelty of a Decision, in rows
    with gaps whose threshold is not known. A model that refuses gaps itself (missing="error") has a shorter query. In
    logistic regression, in a forest and in an AutoClassifier, the mean stands for missing values. The answer is NULL
    too where predict would be an error.

    Examples
    --------
    >>> import classwise as cw
    >>> m = cw.LDA().fit([[1.0], [2.0], [4.0], [5.0]], ["low", "low", "high", "high"])
    >>> print(cw.to_sql(m, "people", columns=["id"], features=["height"]))
    WITH cw_given AS (
      SELECT
        t."id" AS k0,
        NULLIF(CAST(t."height" AS DOUBLE) - 3e0, CAST('NaN' AS DOUBLE)) AS x0
      FROM "people" AS t
    ), cw_score AS (
      SELECT
        k0,
        COALESCE(6e0 * x0 - 4.5e0, 0e0) - 0.6931471805599453e0 AS s0,
        COALESCE(-6e0 * x0 - 4.5e0, 0e0) - 0.6931471805599453e0 AS s1
      FROM cw_given
    ), cw_peak AS (
      SELECT
        k0,
        s0,
        s1,
        GREATEST(s0, s1) AS peak
      FROM cw_score
    ), cw_best AS (
      SELECT
        k0,
        s0,
        s1,
        CASE WHEN peak BETWEEN -1e+290 AND 1e+290 THEN peak END AS best
      FROM cw_peak
    )
    SELECT
      k0 AS "id",
      CASE WHEN s0 >= best - 1e-12 THEN 'high' WHEN s1 >= best - 1e-12 THEN 'low' END AS "label"
    FROM cw_best
    """
    try:
        import sqlglot  # noqa: F401
    except ImportError as problem:
        raise MissingExtraError('SQL is written with sqlglot: pip install "classwise[export]".') from problem
    from classwise.export.sql.query import write_query

    return write_query(model, table, dialect, columns, output, features)
