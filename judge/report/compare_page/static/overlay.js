// Marks that were set in one wording of a report, on another that differs in white space alone:
// on its numbered lines, or on a text that several judges have read.

// What Python takes for white space, and JavaScript.
const SPACE = /[\s\x1c-\x1f\x85]/;

export function textOf(segments) {
  return segments.map(({ text }) => text).join("");
}

// Each of `texts`, in the order in which they stand in the report, cut into pieces with their
// `text` and their `errors`: those that any of `versions`, lists of segments, has there. A version
// that does not hold a text marks nothing in it.
export function overlaid(texts, versions) {
  const read = versions.map((segments) => ({ ...bare(segments), from: 0 }));
  return texts.map((text) => {
    const { letters, places } = bare([{ text, errors: [] }]);
    const spans = read.flatMap((version) => {
      const start = version.letters.indexOf(letters, version.from);
      if (start < 0) return [];
      version.from = start + letters.length;
      return version.spans.map(({ begin, end, errors }) => ({
        begin: places[Math.max(0, begin - start)], end: places[Math.min(end - start, letters.length) - 1] + 1, errors,
      })).filter(({ begin, end }) => begin < end);
    });
    return cut(text, spans);
  });
}

// The text without white space, where each of its letters stands, and what is marked of them.
function bare(segments) {
  const [letters, places, spans] = [[], [], []];
  let at = 0;
  for (const { text, errors } of segments) {
    const begin = letters.length;
    for (let within = 0; within < text.length; within += 1, at += 1) {
      if (SPACE.test(text[within])) continue;
      letters.push(text[within]);
      places.push(at);
    }
    if (errors.length) spans.push({ begin, end: letters.length, errors });
  }
  return { letters: letters.join(""), places, spans };
}

function cut(text, spans) {
  const edges = [...new Set([0, ...spans.flatMap(({ begin, end }) => [begin, end]), text.length])].sort((a, b) => a - b);
  return edges.slice(1).map((end, at) => ({
    text: text.slice(edges[at], end),
    errors: spans.filter((span) => span.begin <= edges[at] && end <= span.end).flatMap(({ errors }) => errors),
  }));
}
