// Data that stand inside this very file, each piece compressed in an element of its own.

export async function unpackedBytes(name) {
  const text = atob(document.getElementById(`data-${name}`).textContent);
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at += 1) bytes[at] = text.charCodeAt(at);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

export async function unpacked(name) {
  return JSON.parse(new TextDecoder().decode(await unpackedBytes(name)));
}
