"""Scoring inside a database: the model becomes a query, and no row leaves the database."""

import duckdb

import classwise as cw

# A database with a table of penguins; in practice it is there already.
database = duckdb.connect()
penguins = cw.load_penguins("pyarrow")
database.register("arriving", penguins)
database.sql("CREATE TABLE penguins AS SELECT row_number() OVER () AS id, * FROM arriving")

# Learn from the rows where species and sex are known.
columns = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g", "island"]
X, y = cw.datasets.penguins("pyarrow")
model = cw.NaiveBayes().fit(X.select(columns), y)

# One query for every database; here only the posteriors of three rows, and then the count of each label.
query = cw.to_sql(model, "penguins", dialect="duckdb", columns=["id"])
print(f"The query has {len(query.splitlines())} lines. Its first answers:\n")
print(database.sql(f"SELECT * FROM ({query}) ORDER BY id LIMIT 3"))

answers = database.sql(f"SELECT id, label FROM ({query}) ORDER BY id").fetchall()
same = sum(label == expected for (_, label), expected in zip(answers, model.predict(X.select(columns)), strict=True))
print(f"{same} of {len(answers)} labels are those of Python.")

# The same query in another dialect.
print("\nFor PostgreSQL it begins with:", cw.to_sql(model, "penguins", dialect="postgres").split("\n")[0])
