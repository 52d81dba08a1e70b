// The data of a page that stands in one file, by their names.

export function isFile(): boolean {
  return document.documentElement.dataset.mode === "file";
}

export function isEmbedded(name: string): boolean {
  return document.getElementById(`data-${name}`) !== null;
}

export async function embeddedBytes(name: string): Promise<ArrayBuffer> {
  const element = document.getElementById(`data-${name}`);
  if (!element) throw new Error(`This page has no ${name}.`);
  const text = atob(element.textContent ?? "");
  const bytes = Uint8Array.from(text, (sign) => sign.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

export async function embedded<Data>(name: string): Promise<Data> {
  return JSON.parse(new TextDecoder().decode(await embeddedBytes(name))) as Data;
}

// Doubles of `n` rows and some series, NaN for a missing one.
export function seriesReader(bytes: ArrayBuffer, n: number): (row: number, series: number) => number | null {
  const numbers = new Float64Array(bytes);
  return (row, series) => {
    const value = numbers[series * n + row];
    return value === undefined || Number.isNaN(value) ? null : value;
  };
}
