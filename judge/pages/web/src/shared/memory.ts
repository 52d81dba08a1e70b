// What the browser remembers from one page to the next. It may refuse to remember anything: then
// all holds for this page alone.

export function remembered(name: string): string | null {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

export function remember(name: string, value: string): void {
  try {
    localStorage.setItem(name, value);
  } catch {
    // Nothing is lost but the convenience.
  }
}
