import type { ExampleFile } from './files.ts';

/** Code with colours: comments, texts and the words of the language. */

const SLASHES = String.raw`\/\/.*|\/\*[^]*?\*\/`;
const HASH = String.raw`(?<=^|\s)#.*`;
const DASHES = '--.*';
/** The comments of a language, by the ending of its files. */
const COMMENTS: Readonly<Record<string, string>> = { py: HASH, sh: HASH, lua: DASHES };

const TEXTS = String.raw`"""[^]*?"""|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|${'`'}[^${'`'}]*${'`'}`;

/** The words of all the languages together: a name that is a word of another one is coloured too, which is rare. */
const WORDS = new Set(
  `abstract and as async await boolean break byte case catch char class const continue def default defer do done double
  elif else elseif end enum esac except export extends false fi final finally float fn for foreach from func function if
  implements import in int interface internal is lambda let local long namespace new nil None not null object or package
  private protected public raise range readonly record require return sealed self static string struct switch this
  then throw throws true True False try type typeof undefined until use using var void while with yield`.split(
    /\s+/,
  ),
);

const CLASSES = { comment: 'text-muted italic', text: 'text-good', word: 'text-accent' };

/** A piece of code, and its colour unless it is plain. */
function* pieces(code: string, ending: string): Generator<[text: string, className?: string]> {
  const comments = COMMENTS[ending] ?? SLASHES;
  const token = new RegExp(`(${comments})|(${TEXTS})|\\b[A-Za-z_]\\w*`, 'gm');
  let end = 0;
  for (const { 0: found, 1: comment, 2: text, index } of code.matchAll(token)) {
    const kind = comment ? 'comment' : text ? 'text' : WORDS.has(found) ? 'word' : undefined;
    if (!kind) continue;
    if (index > end) yield [code.slice(end, index)];
    yield [found, CLASSES[kind]];
    end = index + found.length;
  }
  yield [code.slice(end)];
}

export const Code = ({ file, children }: { file: ExampleFile; children: string }) => (
  <pre className="w-max px-4 py-3 font-mono text-[0.8125rem] leading-relaxed sm:px-5">
    {Array.from(pieces(children, file.split('.').at(-1) ?? ''), ([text, className], at) =>
      className ? (
        // biome-ignore lint/suspicious/noArrayIndexKey: pieces keep their places
        <span key={at} className={className}>
          {text}
        </span>
      ) : (
        text
      ),
    )}
  </pre>
);
