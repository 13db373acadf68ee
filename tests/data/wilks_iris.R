# Wilks' lambda, Rao's F and F to enter on iris; Rscript wilks_iris.R > wilks_iris.csv
X <- as.matrix(iris[, 1:4]); g <- iris$Species
cat("columns,lambda,f,above,below,p,enter,partial_f,partial_below,partial_p\n")
for (path in list(c(3), c(3, 2), c(3, 2, 4), c(3, 2, 4, 1), c(1, 2))) {
  d <- length(path); s <- path[-d]; j <- path[d]
  w <- if (d == 1) {
    a <- anova(lm(X[, j] ~ g)); ss <- a[["Sum Sq"]]
    c(ss[2] / sum(ss), a[["F value"]][1], a$Df[1], a$Df[2], a[["Pr(>F)"]][1])
  } else summary(manova(X[, path] ~ g), test = "Wilks")$stats[1, c(2, 3, 4, 5, 6)]
  small <- if (length(s)) lm(X[, j] ~ X[, s]) else lm(X[, j] ~ 1)
  large <- if (length(s)) lm(X[, j] ~ X[, s] + g) else lm(X[, j] ~ g)
  e <- anova(small, large)
  cat(paste(path - 1, collapse = " "), format(w, digits = 12), j - 1,
      format(c(e$F[2], e$Res.Df[2], e[["Pr(>F)"]][2]), digits = 12), sep = ",")
  cat("\n")
}
