// Logistic regression: probabilities from scores, at the most probable weights, or averaged over what is believed.
// Of two classes with one score s ~ N(m, v); of more, with correlated contrasts of scores.

import { CLASSIFIERS } from "./classifiers.js";
import { UnscorableError, array, flat, logNormalize, logSumExp, range } from "./numbers.js";
import { erfc, erfcx, eigen } from "./special.js";

// Deviations of the score up to which each rule serves; how far and how close the points of the second one are; and
// between which scores the third one has points.
const [NARROW, VAST] = [1, 30];
const [FARTHEST, CLOSE] = [9, 0.6];
const ENDS = 40;

// The total variance of contrasts up to which few points do, and up to which a grid does.
const [TIGHT, WIDE] = [0.1, 8];

function logistic(classifier, row) {
  const logs = PREDICTIVES[classifier.predictive](classifier, columnsOf(classifier.design, row));
  if (!logs.every(Number.isFinite)) {
    throw new UnscorableError("A row holds infinity, or lies too far from the others to be scored.");
  }
  const shift = flat(classifier.shift);
  return shift.some((by) => by !== 0) ? logNormalize(logs.map((log, k) => log + shift[k])) : logs;
}

/** z = (x - center) / scale of numbers, and of levels as yes or no; the mean where one is missing. */
function columnsOf(design, row) {
  const [mean, center, scale] = [design.mean, design.center, design.scale].map(flat);
  const columns = design.source.map((j, i) => {
    const [x, level] = [row[j], design.level[i]];
    const value = level < 0 ? x : x >= 0 && x < design.counts[i] ? Number(x === level) : NaN;
    return ((Number.isNaN(value) ? mean[i] : value) - center[i]) / scale[i];
  });
  return design.intercept ? [...columns, 1] : columns;
}

/** A matrix, given by rows, times a vector. */
function applied(matrix, vector) {
  const { data, shape } = array(matrix);
  return range(0, shape[0]).map((i) => vector.reduce((sum, x, j) => sum + data[i * shape[1] + j] * x, 0));
}

function logProbabilities(link, scores) {
  if (link === "softmax") return logNormalize(scores);
  const own = link === "logit" ? logExpit : logNormal;
  return [own(-scores[0]), own(scores[0])];
}

const logExpit = (x) => (x < 0 ? x - Math.log1p(Math.exp(x)) : -Math.log1p(Math.exp(-x)));

/** log of the normal distribution function. */
function logNormal(x) {
  if (x > 0) return Math.log1p(-0.5 * erfc(x / Math.SQRT2));
  return Math.log(0.5 * erfcx(-x / Math.SQRT2)) - 0.5 * x * x;
}

// Averages over the weights.

function plugin(classifier, columns) {
  return logProbabilities(classifier.link, applied(classifier.weights, columns));
}

/** Mean and covariance of the contrasts of scores. */
function scoresOf(classifier, columns) {
  const { data, shape } = array(classifier.covariance);
  const [r, , q] = shape;
  const covariance = range(0, r).map((a) =>
    range(0, r).map((b) => {
      let total = 0;
      for (let i = 0; i < q; i++) {
        let sum = 0;
        for (let j = 0; j < q; j++) sum += data[((a * r + b) * q + i) * q + j] * columns[j];
        total += columns[i] * sum;
      }
      return total;
    }),
  );
  return { mean: applied(classifier.mode, columns), covariance };
}

function integrated(classifier, columns) {
  if (classifier.draws) return byDraw(classifier, columns);
  const { mean, covariance } = scoresOf(classifier, columns);
  if (classifier.link === "softmax") return averageOfMany(classifier, mean, covariance);
  const variance = Math.max(covariance[0][0], 0);
  if (classifier.link === "probit") return logProbabilities("probit", [mean[0] / Math.sqrt(1 + variance)]);
  const rare = logRare(classifier.rules, -Math.abs(mean[0]), Math.sqrt(variance));
  const common = Math.log1p(-Math.exp(rare));
  return mean[0] > 0 ? [rare, common] : [common, rare];
}

function byDraw(classifier, columns) {
  const { data, shape } = array(classifier.draws);
  const [count, r, q] = shape;
  const logs = range(0, count).map((draw) => {
    const scores = range(0, r).map((a) => columns.reduce((sum, z, j) => sum + data[(draw * r + a) * q + j] * z, 0));
    return logProbabilities(classifier.link, applied(classifier.basis, scores));
  });
  return logs[0].map((_, k) => logSumExp(logs.map((log) => log[k])) - Math.log(count));
}

/** MacKay's approximation: scores by how well they are known; of more classes, of each pair. */
function moderated(classifier, columns) {
  const { mean, covariance } = scoresOf(classifier, columns);
  if (classifier.link !== "softmax") {
    const factor = classifier.link === "logit" ? Math.PI / 8 : 1;
    return logProbabilities(classifier.link, [mean[0] / Math.sqrt(1 + factor * covariance[0][0])]);
  }
  const { data: basis, shape } = array(classifier.basis);
  const scores = applied(classifier.basis, mean);
  const difference = (k, l) => mean.map((_, a) => basis[k * shape[1] + a] - basis[l * shape[1] + a]);
  const variance = (u) => u.reduce((sum, x, a) => sum + x * u.reduce((of, y, b) => of + covariance[a][b] * y, 0), 0);
  const against = (k, l) =>
    (scores[l] - scores[k]) / Math.sqrt(1 + (Math.PI * Math.max(variance(difference(k, l)), 0)) / 8);
  return logNormalize(scores.map((_, k) => -logSumExp(scores.map((_, l) => against(k, l)))));
}

const PREDICTIVES = { plugin, integrated, moderated };

/** log E 1 / (1 + e^-s), with m at most 0. */
function logRare(rules, m, d) {
  if (d <= NARROW) {
    const [nodes, weights] = [flat(rules.hermite.points), flat(rules.hermite.weights)];
    return logSumExp(Array.from(nodes, (node, i) => logExpit(m + d * node) + Math.log(weights[i])));
  }
  if (d > VAST) return logRareVast(rules, m, d);
  const top = Math.min(d, -m / d) + FARTHEST;
  const count = Math.ceil(((top + FARTHEST) * d) / CLOSE);
  const step = (top + FARTHEST) / count;
  const logs = range(0, count + 1).map((i) => {
    const t = i * step - FARTHEST;
    return logExpit(m + d * t) - 0.5 * t * t;
  });
  return logSumExp(logs) + Math.log(step / Math.sqrt(2 * Math.PI));
}

/** P(s > 40), the integral from -40 to 40, and E [e^s; s < -40]. */
function logRareVast(rules, m, d) {
  const [nodes, weights] = [flat(rules.legendre.points), flat(rules.legendre.weights)];
  const between = Array.from(nodes, (node, i) => {
    const density = -0.5 * ((node - m) / d) ** 2 - Math.log(d);
    return logExpit(node) + density + Math.log(weights[i] / Math.sqrt(2 * Math.PI));
  });
  const x = (-ENDS - m) / d - d;
  const below =
    x < 0
      ? -ENDS - 0.5 * ((ENDS + m) / d) ** 2 + Math.log(0.5 * erfcx(-x / Math.SQRT2))
      : m + 0.5 * d * d + logNormal(x);
  return logSumExp([logNormal((m - ENDS) / d), logSumExp(between), below]);
}

// More classes.

function averageOfMany(classifier, mean, covariance) {
  const { rules, basis } = classifier;
  const spread = covariance.reduce((sum, of, a) => sum + of[a], 0);
  const name = spread <= TIGHT && rules.cubature ? "cubature" : spread <= WIDE && rules.grid ? "grid" : "lattice";
  const found = byRule(rules[name], basis, mean, covariance);
  const isSound = found.every((log) => log > Math.log(1e-280));
  return isSound ? found : byRule(rules.lattice, basis, mean, covariance);
}

/** log of the weighted sum of P(k | s) over points. */
function byRule(rule, basis, mean, covariance) {
  const { data, shape } = array(rule.points);
  const weights = flat(rule.weights);
  const root = eigen(covariance);
  const center = applied(basis, mean);
  const logs = range(0, shape[0]).map((n) => {
    const point = mean.map((_, a) => root.reduce((sum, axis, b) => sum + axis[a] * data[n * shape[1] + b], 0));
    return logNormalize(applied(basis, point).map((score, k) => score + center[k]));
  });
  if (weights.some((weight) => weight < 0)) {
    return center.map((_, k) => Math.log(logs.reduce((sum, log, n) => sum + weights[n] * Math.exp(log[k]), 0)));
  }
  return center.map((_, k) => logSumExp(logs.map((log, n) => log[k] + Math.log(weights[n]))));
}

Object.assign(CLASSIFIERS, { logistic });
