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

export const get = async (path) => (await asked(`/api/${path}`)).json();

export async function ask(path, body) {
  const headers = { "Content-Type": "application/json" };
  return (await asked(`/api/${path}`, { method: "POST", headers, body: JSON.stringify(body) })).json();
}

export async function upload(file) {
  const path = `/api/upload?name=${encodeURIComponent(file.name)}`;
  const headers = { "Content-Type": "application/octet-stream" };
  return (await asked(path, { method: "POST", headers, body: file })).json();
}

export async function download(kind, dials) {
  const headers = { "Content-Type": "application/json" };
  const reply = await asked(`/api/download/${kind}`, { method: "POST", headers, body: JSON.stringify(dials) });
  const name = /filename="(.+)"/.exec(reply.headers.get("content-disposition"))[1];
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await reply.blob());
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
