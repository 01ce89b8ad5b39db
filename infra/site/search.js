// The search of the site: a web worker in place of zensical's, which finds only texts with every word of a query.
//
// Messages: 0 has the index (search.json) and is answered by 1; 2 has a query and is answered by 3, with the results.
// A result is a page with its best section. Pages come first that have more and rarer words of the query, and words in
// titles and in [words] of zensical.toml count most.
"use strict";

const STOP = new Set(
  ("a about an and any are as at be by can do does for from get got has have how i if in into is it its me my of on or " +
    "our should so that the their them then there these they this to use was we what when where which why will " +
    "with without you your").split(" "),
);
// The fields of a section with their weights. The title of a page counts for each of its sections.
const WEIGHTS = { words: 9, title: 8, page: 5, text: 1 };
const RESULTS = 10;

// Returns the words of a text with their places, without HTML tags. Entities such as &lt; are no words.
function* split(text) {
  for (const found of text.matchAll(/<[^>]*>|&\w+;|[\p{L}\p{N}]+/gu)) {
    if (!/^[<&]/.test(found[0])) yield { word: found[0].toLowerCase(), start: found.index, end: found.index + found[0].length };
  }
}

// Returns a word without the ending that a form of it adds: failed, fails, failing and failure are fail.
function stem(word) {
  if (word.length < 4) return word;
  const root = word
    .replace(/(ies|ied)$/, "y")
    .replace(/(?<=\w{3})(ations?|ings?|ures?|ments?|ers?|ed|es|e|s)$/, "")
    .replace(/([bdfgmnprt])\1$/, "$1");
  return root.length < 3 ? word : root;
}

// Returns whether two words differ by one letter, or by two exchanged neighbours.
function differsByOne(a, b) {
  if (Math.abs(a.length - b.length) > 1 || a[0] !== b[0]) return false;
  let start = 0;
  while (start < a.length && a[start] === b[start]) start++;
  const [restA, restB] = [a.slice(start), b.slice(start)];
  return (
    restA.slice(1) === restB || restA === restB.slice(1) || restA.slice(1) === restB.slice(1) ||
    (restA[0] === restB[1] && restA[1] === restB[0] && restA.slice(2) === restB.slice(2))
  );
}

let items = []; // the sections, in the order of the index
let pages = []; // for each section the number of its page
let terms = new Map(); // maps a stem to a map of sections to the sum of the weights of its places
let known = []; // the stems

function build(index) {
  items = index.items;
  terms = new Map();
  const numbers = new Map();
  const words = new Map(index.items.filter((item) => item.words).map((item) => [item.location, item.words]));
  pages = items.map(({ location }) => {
    const page = location.split("#")[0];
    if (!numbers.has(page)) numbers.set(page, numbers.size);
    return numbers.get(page);
  });
  items.forEach((item, number) => {
    const isPage = !item.location.includes("#");
    const fields = {
      words: isPage ? (words.get(item.location) ?? "") : "",
      title: item.title,
      page: isPage ? "" : (item.path?.at(-1) ?? ""),
      text: item.text,
    };
    for (const [field, text] of Object.entries(fields)) {
      const counts = new Map();
      for (const { word } of split(text)) counts.set(stem(word), (counts.get(stem(word)) ?? 0) + 1);
      for (const [term, count] of counts) {
        if (!terms.has(term)) terms.set(term, new Map());
        const sections = terms.get(term);
        // A word counts less each time that it is repeated, so that long texts do not win.
        sections.set(number, (sections.get(number) ?? 0) + WEIGHTS[field] * ((2 * count) / (count + 1)));
      }
    }
  });
  known = [...terms.keys()];
}

// Returns the stems that a word of a query finds, with their shares: the same word, longer words, and misspelt words.
function expand(term, isLast) {
  const found = new Map(terms.has(term) ? [[term, 1]] : []);
  if (term.length >= 3) {
    for (const other of known) {
      if (other !== term && other.startsWith(term)) found.set(other, isLast && !terms.has(term) ? 0.8 : 0.4);
    }
  }
  if (!found.size && term.length >= 4) {
    for (const other of known) if (differsByOne(term, other)) found.set(other, 0.6);
  }
  return found;
}

// Returns the stems of a query. Words such as "how" count only if there are no others.
function read(query) {
  const words = [...split(query)].map(({ word }) => word);
  const meant = words.filter((word) => !STOP.has(word));
  return [...new Set((meant.length ? meant : words).map(stem))];
}

// Returns the numbers of the best sections, one for each page, and the stems that the query finds.
function find(query) {
  const asked = read(query);
  const all = new Set();
  const scores = new Map(); // of sections: the score, and for each page the best score of each word
  const best = new Map();
  asked.forEach((term, position) => {
    const shares = expand(term, position === asked.length - 1);
    const held = new Map();
    for (const [other, share] of shares) {
      all.add(other);
      const sections = terms.get(other);
      const rarity = Math.log(1 + items.length / (1 + sections.size));
      for (const [number, weight] of sections) {
        held.set(number, Math.max(held.get(number) ?? 0, share * rarity * Math.log2(1 + weight)));
      }
    }
    for (const [number, score] of held) {
      const own = scores.get(number) ?? { score: 0, words: 0 };
      scores.set(number, { score: own.score + score, words: own.words + 1 });
      const page = best.get(pages[number]) ?? best.set(pages[number], new Map()).get(pages[number]);
      page.set(position, Math.max(page.get(position) ?? 0, score));
    }
  });
  const chosen = new Map();
  for (const [number, { score, words }] of scores) {
    const page = best.get(pages[number]);
    const whole = [...page.values()].reduce((sum, each) => sum + each, 0);
    const total = score * (words / asked.length) + whole * (page.size / asked.length) ** 2;
    const former = chosen.get(pages[number]);
    if (!former || total > former.total) chosen.set(pages[number], { number, total });
  }
  const order = [...chosen.values()].sort((a, b) => b.total - a.total || a.number - b.number);
  return { numbers: order.map(({ number }) => number), found: all };
}

// Returns a result as zensical's page shows it, with the places of the found words.
function show(number, found) {
  const { title, text } = items[number];
  const matches = Object.entries({ title, text }).map(([field, content]) => {
    const ranges = [...split(content)]
      .filter(({ word }) => found.has(stem(word)))
      .map(({ start, end }) => ({ start, end, value: end - start }));
    return { field, value: { highlight: { ranges } } };
  });
  return { id: number, matches: matches.filter(({ value }) => value.highlight.ranges.length) };
}

function answer({ input, page }) {
  const { numbers, found } = find(typeof input === "string" ? input : "");
  const from = page?.from ?? 0;
  const shown = numbers.slice(from, from + RESULTS).map((number) => show(number, found));
  const pagination = { total: numbers.length };
  if (from) pagination.prev = { from: from - RESULTS };
  if (from + RESULTS < numbers.length) pagination.next = { from: from + RESULTS };
  return { items: shown, pagination, aggregations: [] };
}

self.onmessage = ({ data: { type, data } }) => {
  if (type === 0) {
    build(data);
    self.postMessage({ type: 1 });
  } else if (type === 2) {
    self.postMessage({ type: 3, data: answer(data) });
  }
};
