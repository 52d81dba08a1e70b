// Data that stand inside this very file, each piece compressed in an element of its own.

export async function unpackedBytes(id) {
  const text = atob(document.getElementById(id).textContent);
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at += 1) bytes[at] = text.charCodeAt(at);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

export async function unpacked(id) {
  return JSON.parse(new TextDecoder().decode(await unpackedBytes(id)));
}
