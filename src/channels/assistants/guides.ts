/** The search in the guides, over the text of `/llms-full.txt` (12). */

/** The line of that file after which a guide begins. */
const SOURCE = /^Source: (\/docs\/[\w-]+)\.md$/;

const MAX_EXCERPT_LENGTH = 1_200;
/** A word in a heading counts as so many in the text. */
const HEADING_WEIGHT = 8;

interface Section {
  guide: string;
  heading: string;
  address: string;
  text: string;
}

/** The fragment of a heading, as the pages of the guides have it. */
const fragmentOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
    .replaceAll(' ', '-');

function sectionsOf(file: string, origin: string): Section[] {
  const sections: Section[] = [];
  let page = '';
  let guide = '';
  let isCode = false;
  for (const line of file.split('\n')) {
    const [, source] = SOURCE.exec(line) ?? [];
    if (source !== undefined) {
      page = source;
      guide = '';
      isCode = false;
      continue;
    }
    if (line.startsWith('```')) isCode = !isCode;
    const [, heading] = (isCode ? null : /^#{1,4} (.+)$/.exec(line)) ?? [];
    if (heading !== undefined && page !== '') {
      guide ||= heading;
      const address = `${origin}${page}#${fragmentOf(heading)}`;
      sections.push({ guide, heading, address, text: '' });
      continue;
    }
    const section = sections.at(-1);
    if (section) section.text += `${line}\n`;
  }
  return sections;
}

const excerptOf = (text: string): string =>
  text.length > MAX_EXCERPT_LENGTH ? `${text.slice(0, MAX_EXCERPT_LENGTH).toWellFormed()}…` : text;

const countIn = (text: string, word: string): number => text.split(word).length - 1;

/** The sections with the most of the words, those with all of them first. */
export function searchGuides(file: string, sought: string, origin: string): Section[] {
  const words = [...new Set(sought.toLowerCase().match(/[\p{L}\p{N}_-]+/gu))];
  const rated = sectionsOf(file, origin).map((section) => {
    const heading = section.heading.toLowerCase();
    const text = section.text.toLowerCase();
    // A long section is no better than a short one for its length alone.
    const counts = words.map(
      (word) => countIn(heading, word) * HEADING_WEIGHT + Math.min(countIn(text, word), 5),
    );
    const found = counts.filter((count) => count > 0).length;
    return { section, rank: found * 1_000 + counts.reduce((sum, count) => sum + count, 0) };
  });
  return rated
    .filter(({ rank }) => rank > 0)
    .toSorted((one, other) => other.rank - one.rank)
    .map(({ section: { text, ...section } }) => ({
      ...section,
      text: excerptOf(text.trim()),
    }));
}
