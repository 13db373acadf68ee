// Lessons: the course, step by step, with the page's own controls; one sentence and one question a step.
import { openExample } from "./opening.js";
import { $, table } from "./page.js";
import { ALONE, change, state } from "./state.js";

const PLAIN = { structure: "full", share: 0, shrink: 0, estimate: "mle", standardize: false, priors: null, costs: null, reject: 0, model: null, point: null, row: null };

export const LESSONS = [
  { title: "One Gaussian for each class", example: "petals", light: "picture", state: { ...PLAIN, x: "length", y: ALONE, panel: "why" },
    sentence: "Each class is described by a mean and a variance: the curve is prior times density, and the bars beneath it are the rows.",
    question: "Where do the two curves cross, and what happens to the decision there?" },
  { title: "Bayes' rule", example: "petals", light: "priors", state: { ...PLAIN, x: "length", y: ALONE, priors: [0.2, 0.8], panel: "why", point: [4.6] },
    sentence: "The posterior is prior times density, divided by the sum over the classes; move a prior and the lower picture follows.",
    question: "How far must the prior go before the point at 4.6 changes its class?" },
  { title: "LDA against QDA", example: "penguins", light: "pad", state: { ...PLAIN, share: 1, x: "bill_length_mm", y: "bill_depth_mm", panel: "equation" },
    sentence: "Classes that share one covariance have straight boundaries; with a covariance of its own for each class they are conics.",
    question: "Drag the pad from LDA to QDA: which boundary bends most, and do held-out rows (the blue of the square) care?" },
  { title: "Naive Bayes", example: "hyperbola", light: "switch-title", state: { ...PLAIN, structure: "diagonal", x: "x", y: "y", panel: "held" },
    sentence: "A diagonal structure takes the columns for independent within a class: the ellipses lie along the axes.",
    question: "Switch the structure to full: does the boundary change here, and would it if the ellipses were tilted?" },
  { title: "Shrinking", example: "penguins", light: "pad", state: { ...PLAIN, share: 1, shrink: 1, standardize: true, x: "bill_length_mm", y: "body_mass_g", panel: "held" },
    sentence: "Shrinking moves each covariance toward a sphere; at the end of the way, the nearest mean wins.",
    question: "Turn off “Shrink in standard deviations”: why does body mass now decide alone?" },
  { title: "Few rows", example: "petals", light: "switch-title", state: { ...PLAIN, estimate: "bayes", x: "length", y: ALONE, panel: "why", point: [5] },
    sentence: "With eight rows nobody knows mean and variance for sure; the Bayes estimate averages over them, and its tails are heavier.",
    question: "Switch to plug-in: at which lengths is it surer than eight rows allow?" },
  { title: "Costs and reject", example: "circle", light: "decide-title", state: { ...PLAIN, reject: 0.8, x: "x", y: "y", panel: "why" },
    sentence: "Where no class is sure enough the decision is left open, and where one mistake is dearer the boundary moves away from it.",
    question: "Make it ten times as costly to miss class 1: where does the boundary go, and what is left undecided?" },
  { title: "Generative against discriminative", example: "banana", light: "tabs", state: { ...PLAIN, x: "x", y: "y", panel: "curve" },
    sentence: "A generative model learns what each class looks like, a discriminative one only where they part; with few rows the first often leads, with many the second.",
    question: "Generate rows: what do they show that the boundary hides, and who leads in the learning curve?" },
];

let lit = null;
function light(id) {
  lit?.classList.remove("lit");
  const element = $(id);
  lit = element?.closest(".card") ?? element;
  lit?.classList.add("lit");
}

export function showLesson() {
  const step = LESSONS[state.lesson - 1];
  $("lesson").hidden = !step;
  if (!step) { lit?.classList.remove("lit"); return; }
  $("lesson-title").textContent = step.title;
  $("lesson-count").textContent = `Lesson ${state.lesson} of ${LESSONS.length}`;
  $("lesson-sentence").textContent = step.sentence;
  $("lesson-question").textContent = step.question;
  $("lesson-back").disabled = state.lesson === 1;
  $("lesson-next").disabled = state.lesson === LESSONS.length;
  light(step.light);
}

async function go(number) {
  const step = LESSONS[number - 1];
  if (table.facts?.name === step.example && state.example === step.example && !state.pad) change({ ...step.state, lesson: number });
  else await openExample(step.example, { ...step.state, lesson: number });
  $("lesson-title").focus();
}

export function startLessons() {
  $("lessons").addEventListener("click", () => go(state.lesson || 1));
  $("lesson-next").addEventListener("click", () => go(state.lesson + 1));
  $("lesson-back").addEventListener("click", () => go(state.lesson - 1));
  $("lesson-close").addEventListener("click", () => change({ lesson: null }));
}
