import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Download, Plus } from 'lucide-react';
import { licet, serviceAddress } from '../../api.ts';
import { Button, ButtonLink } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
import { LoadFailure, Section, Skeleton } from '../../components/page.tsx';
import { saveFile } from '../../csv.ts';
import { screenTexts } from '../../screen-texts.ts';
import { useMay } from '../../session.ts';
import { EXAMPLES } from './examples.ts';
import { type ExampleFile, FILES } from './files.ts';
import { fillIn } from './fill.ts';

const words = screenTexts.program;

/** A line for a terminal, and a button that copies it. */
const Line = ({ text, label }: { text: string; label: string }) => (
  <div className="flex items-center gap-2 rounded-lg bg-hover py-1 pr-1 pl-3">
    <code className="min-w-0 flex-1 font-mono text-[0.8125rem] break-all">{text}</code>
    <CopyButton value={text} label={label} isIcon />
  </div>
);

/** The examples of `examples/`, and the chosen one. */
export default function Example({ file, productId }: { file: ExampleFile; productId: number }) {
  const source = useQuery({
    queryKey: ['example', file],
    queryFn: async () => (await EXAMPLES[file].load()).default,
    staleTime: Number.POSITIVE_INFINITY,
  });
  return (
    <>
      <nav
        aria-label={words.language}
        className="-mb-2 flex gap-1 overflow-x-auto rounded-lg p-0.5 whitespace-nowrap"
      >
        {FILES.map((each) => (
          <Link
            key={each}
            to="/program"
            search={{ productId, file: each }}
            replace
            resetScroll={false}
            aria-current={each === file ? 'page' : undefined}
            className={`flex min-h-9 items-center rounded-lg px-3 pointer-coarse:min-h-11 ${each === file ? 'bg-accent-soft font-medium text-accent' : 'text-muted hover:bg-hover hover:text-ink'}`}
          >
            {EXAMPLES[each].language}
          </Link>
        ))}
      </nav>
      {source.error ? (
        <LoadFailure error={source.error} onRetry={source.refetch} />
      ) : source.data === undefined ? (
        <Skeleton lines={12} />
      ) : (
        <Filled file={file} source={source.data} productId={productId} />
      )}
    </>
  );
}

/** An example, filled in for a product of this service, and how to try it. */
function Filled({
  file,
  source,
  productId,
}: {
  file: ExampleFile;
  source: string;
  productId: number;
}) {
  const mayCreate = useMay('writeLicenses');
  const { compile, run, needs } = EXAMPLES[file];
  const filled = fillIn(source, { url: serviceAddress, productId });
  return (
    <>
      <Section
        title={file}
        note={words.forWhat[file]}
        actions={
          <div className="flex gap-2 py-1 pr-2">
            <CopyButton value={filled} label={words.copy} />
            <Button onClick={() => saveFile(file, 'text/plain', [filled])}>
              <Download size={16} aria-hidden />
              {words.download}
            </Button>
          </div>
        }
      >
        <p className="px-4 pt-3 text-muted sm:px-5">{words.filled(productId)}</p>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: who has no mouse scrolls it by keyboard */}
        <section aria-label={words.code(file)} tabIndex={0} className="max-h-112 overflow-auto">
          <pre className="w-max px-4 py-3 font-mono text-[0.8125rem] leading-relaxed sm:px-5">
            {filled}
          </pre>
        </section>
      </Section>
      <Section title={words.tryTitle}>
        <div className="flex flex-col gap-3 px-4 py-4 sm:px-5">
          <p className="text-muted">{words.tryLead(needs)}</p>
          <Line
            label={words.tryCopy}
            text={`${compile ? `${compile} && ` : ''}LICET_KEY=${words.tryKey} ${run}`}
          />
          {mayCreate && (
            <p>
              <ButtonLink to="/licenses/new" search={{ productId }}>
                <Plus size={16} aria-hidden />
                {words.newLicense}
              </ButtonLink>
            </p>
          )}
        </div>
      </Section>
      <PublicKey source={source} />
    </>
  );
}

/** The public key to build into an example. Shows nothing if the service does not sign. */
function PublicKey({ source }: { source: string }) {
  const keys = useQuery({
    queryKey: ['signing-keys'],
    queryFn: ({ signal }) => licet.signingKeys({ signal }),
    staleTime: Number.POSITIVE_INFINITY,
  });
  // Each example verifies the algorithm that its language supports without a library.
  const kty = /RS256/.test(source) ? 'RSA' : /ES256/.test(source) ? 'EC' : undefined;
  const key = keys.data?.keys.find((each) => each.kty === kty);
  if (!key) return null;
  return (
    <Section title={words.signedTitle}>
      <div className="flex flex-col gap-3 px-4 py-4 sm:px-5">
        <p className="text-muted">{words.signedLead}</p>
        <Line
          label={words.signedKey(key.kid)}
          text={`${key.kid}:${key.kty === 'EC' ? `${key.x}.${key.y}` : key.n}`}
        />
      </div>
    </Section>
  );
}
