// What JavaScript does not have: the error function, and eigenvectors.

/** 1 - erf(x), for x >= 0. */
export function erfc(x) {
  return x < 2 ? 1 - erf(x) : erfcx(x) * Math.exp(-x * x);
}

/** By a series of positive terms. */
function erf(x) {
  let [term, sum] = [x, x];
  for (let n = 1; term > 1e-17 * sum; n++) {
    term *= (2 * x * x) / (2 * n + 1);
    sum += term;
  }
  return ((2 / Math.sqrt(Math.PI)) * Math.exp(-x * x)) * sum;
}

/** exp(x²) erfc(x), for x >= 0; beyond 2 by a continued fraction. */
export function erfcx(x) {
  if (x < 2) return Math.exp(x * x) * (1 - erf(x));
  let fraction = x;
  for (let n = 120; n > 0; n--) fraction = x + n / 2 / fraction;
  return 1 / (fraction * Math.sqrt(Math.PI));
}

/** The axes of a covariance, times the root of its variance along each, from the least to the largest (Jacobi 1846).
 *  Each points to where the sum of its parts, weighed by 1 / sqrt(place), is positive. */
export function eigen(covariance) {
  const size = covariance.length;
  const a = covariance.map((row) => Float64Array.from(row));
  const axes = a.map((_, i) => Float64Array.from(a, (_, j) => Number(i === j)));
  for (let sweep = 0; sweep < 60; sweep++) {
    let rest = 0;
    for (let p = 0; p < size; p++) for (let q = 0; q < p; q++) rest += Math.abs(a[p][q]);
    if (rest === 0) break;
    for (let p = 0; p < size; p++) for (let q = p + 1; q < size; q++) rotate(a, axes, p, q);
  }
  const order = a.map((_, i) => i).sort((i, j) => a[i][i] - a[j][j]);
  return order.map((i) => {
    const forward = axes[i].reduce((sum, x, j) => sum + x / Math.sqrt(j + 1), 0) < 0 ? -1 : 1;
    return axes[i].map((x) => x * forward * Math.sqrt(Math.max(a[i][i], 0)));
  });
}

function rotate(a, axes, p, q) {
  const off = a[p][q];
  if (Math.abs(off) <= 1e-17 * (Math.abs(a[p][p]) + Math.abs(a[q][q]))) {
    a[p][q] = a[q][p] = 0;
    return;
  }
  const theta = (a[q][q] - a[p][p]) / (2 * off);
  const t = (theta < 0 ? -1 : 1) / (Math.abs(theta) + Math.sqrt(theta * theta + 1));
  const c = 1 / Math.sqrt(t * t + 1);
  const s = t * c;
  for (let k = 0; k < a.length; k++) {
    const [first, second] = [a[k][p], a[k][q]];
    a[k][p] = c * first - s * second;
    a[k][q] = s * first + c * second;
  }
  for (let k = 0; k < a.length; k++) {
    const [first, second] = [a[p][k], a[q][k]];
    a[p][k] = c * first - s * second;
    a[q][k] = s * first + c * second;
    const [x, y] = [axes[p][k], axes[q][k]];
    axes[p][k] = c * x - s * y;
    axes[q][k] = s * x + c * y;
  }
}
