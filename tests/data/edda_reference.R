# mclust's estimates of the 14 structures, for classes that are known: Rscript edda_reference.R folder
#
# folder: tables as CSV, the label in the last column. Prints one line for each table and structure: the log-likelihood
# of the rows given their classes, that of the rows alone as MclustDA reports it, and log posteriors of every tenth row.
# The steps of iterative structures end at 1e-14; MclustDA's own end earlier.
suppressMessages(library(mclust))

structures <- c("EII", "VII", "EEI", "VEI", "EVI", "VVI", "EEE", "VEE", "EVE", "VVE", "EEV", "VEV", "EVV", "VVV")
patient <- emControl(tol = c(1e-14, 1e-14), itmax = c(100000, 100000))
number <- function(x) paste(format(x, digits = 17, trim = TRUE, scientific = TRUE), collapse = " ")

for (file in sort(list.files(commandArgs(TRUE)[1], pattern = "csv$", full.names = TRUE))) {
  table <- read.csv(file)
  X <- as.matrix(table[, -ncol(table)])
  y <- factor(table[, ncol(table)])
  own <- cbind(seq_along(y), as.integer(y))
  for (name in structures) {
    fit <- mstep(data = X, modelName = name, z = unmap(y), control = patient)
    log.density <- cdens(data = X, modelName = name, parameters = fit$parameters, logarithm = TRUE)
    log.joint <- sweep(log.density, 2, log(tabulate(y) / length(y)), "+")
    peak <- apply(log.joint, 1, max)
    posterior <- log.joint - (peak + log(rowSums(exp(log.joint - peak))))
    whole <- MclustDA(X, y, modelType = "EDDA", modelNames = name, verbose = FALSE)
    some <- seq(1, nrow(X), by = 10)
    cat(sub(".csv", "", basename(file)), name, number(sum(log.density[own])), number(whole$loglik),
        number(as.vector(t(posterior[some, ]))), sep = ",", fill = FALSE)
    cat("\n")
  }
}
