# Makes robust_reference.json: MASS's lda and qda with method = "t" and rrcov's CovMcd, on iris with outliers.
# MASS stops its iterations when no weight changes by more than 0.01; here they go on until 1e-13.
# Rscript tests/data/make_robust_reference.R > tests/data/robust_reference.json
suppressMessages({library(MASS); library(rrcov)})

patiently <- function(f) {
  text <- gsub("0.01", "1e-13", deparse(f), fixed = TRUE)
  text <- text[!grepl("print(summary(w))", text, fixed = TRUE)]
  eval(parse(text = text), envir = asNamespace("MASS"))
}

rows <- as.matrix(iris[, 1:4])
rows[c(3, 60, 61, 140), ] <- rows[c(3, 60, 61, 140), ] + rbind(c(6, 0, 0, 0), c(0, 5, 0, -3), c(9, 9, 9, 9), c(0, 0, -8, 0))
labels <- iris$Species

shared <- patiently(MASS:::lda.default)(rows, labels, method = "t", nu = 5)
class(shared) <- "lda"
own <- patiently(MASS:::qda.default)(rows, labels, method = "t", nu = 5)
covariances <- lapply(1:3, function(k) solve(tcrossprod(own$scaling[, , k])))

# Of setosa 29 rows have the same petal width, so that its least determinant is 0: the other two classes.
mcd <- lapply(levels(labels)[2:3], function(k) {
  x <- rows[labels == k, ]
  found <- CovMcd(x, alpha = 0.5, nsamp = 5000)
  set <- x[found@best, ]
  h <- nrow(set)
  list(h = h, log_determinant = as.numeric(determinant(cov(set) * (h - 1) / h)$modulus))
})

matrix_json <- function(m) paste0("[", paste(apply(m, 1, function(r) paste0("[", paste(format(r, digits = 17), collapse = ", "), "]")), collapse = ",\n "), "]")
vector_json <- function(v) paste0("[", paste(format(v, digits = 17), collapse = ", "), "]")
cat("{\n")
cat('"rows": ', matrix_json(rows), ",\n", sep = "")
cat('"labels": [', paste0('"', labels, '"', collapse = ", "), "],\n", sep = "")
cat('"lda_means": ', matrix_json(shared$means), ",\n", sep = "")
cat('"lda_posterior": ', matrix_json(predict(shared, rows)$posterior), ",\n", sep = "")
cat('"qda_means": ', matrix_json(own$means), ",\n", sep = "")
cat('"qda_covariances": [', paste(sapply(covariances, matrix_json), collapse = ",\n "), "],\n", sep = "")
cat('"mcd_rows": ', vector_json(sapply(mcd, `[[`, "h")), ",\n", sep = "")
cat('"mcd_log_determinants": ', vector_json(sapply(mcd, `[[`, "log_determinant")), "\n}\n", sep = "")
