// Questions to the server: JSON with the token of the address; errors come back in words.
const token = new URLSearchParams(location.search).get("token") ?? "";

async function asked(path, options) {
  let reply;
  try {
    reply = await fetch(path, { ...options, headers: { "X-Studio-Token": token, ...options?.headers } });
  } catch {
    throw new Error("The studio does not answer; it may have been stopped in the terminal.");
  }
  if (!reply.ok) {
    const problem = await reply.json().catch(() => ({}));
    throw new Error(problem.detail ?? `The studio answered ${reply.status}.`);
  }
  return reply;
}

// Where the data do not allow an answer, the server says why.
async function answered(reply) {
  const found = await reply.json();
  if (found?.cannot) throw new Error(found.cannot);
  return found;
}

export const get = async (path) => answered(await asked(`/api/${path}`));

// How many questions are under way, for whoever waits for the page to come to rest.
let open = 0;
function count(step) {
  open += step;
  document.body.dataset.asking = open;
}

export async function ask(path, body) {
  const headers = { "Content-Type": "application/json" };
  count(1);
  try {
    return await answered(await asked(`/api/${path}`, { method: "POST", headers, body: JSON.stringify(body) }));
  } finally {
    setTimeout(count, 0, -1);
  }
}

export async function upload(file) {
  const path = `/api/upload?name=${encodeURIComponent(file.name)}`;
  const headers = { "Content-Type": "application/octet-stream" };
  return answered(await asked(path, { method: "POST", headers, body: file }));
}

export async function download(kind, dials) {
  const headers = { "Content-Type": "application/json" };
  const reply = await asked(`/api/download/${kind}`, { method: "POST", headers, body: JSON.stringify(dials) });
  if (!reply.headers.get("content-disposition")) return answered(reply);
  const name = /filename="(.+)"/.exec(reply.headers.get("content-disposition"))[1];
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await reply.blob());
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  return name;
}
