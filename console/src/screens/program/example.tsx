import { LicetError, type Product } from '@licet/client';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { Button, ButtonLink, TextLink } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
import { TextField } from '../../components/form.tsx';
import { ChevronRight, Download, Plus } from '../../components/icons.tsx';
import { AddressMark, LoadFailure, Section, Skeleton } from '../../components/page.tsx';
import { saveFile } from '../../csv.ts';
import { screenTexts } from '../../screen-texts.ts';
import { addressQuery, type ServiceAddress } from '../../service-address.ts';
import { useMay } from '../../session.ts';
import { licenseQuery } from '../license/queries.ts';
import { Code } from './code.tsx';
import { EXAMPLES } from './examples.ts';
import { type ExampleFile, FILES } from './files.ts';
import { fillIn } from './fill.ts';
import { faultOfSpareKey, usePublicKeys } from './keys.ts';
import { LINES } from './lines.ts';
import { BUILD_LINES, isPackaged } from './packages.ts';

const words = screenTexts.program;

/** The version of the project, put in by the build. */
declare const __VERSION__: string;

interface Chosen {
  file: ExampleFile;
  product: Product;
  /** The license to try the example with. */
  licenseId: number | undefined;
  /** Whether the program shall believe signed responses only. */
  isSigned: boolean;
}

/** Reads a file of `examples/` from the documents. */
async function readExample(file: ExampleFile, signal: AbortSignal): Promise<string> {
  const response = await fetch(`/docs/examples/${file}`, { signal }).catch((cause: unknown) => {
    throw new LicetError(0, 'No response', { cause });
  });
  if (!response.ok) throw new LicetError(response.status, response.statusText);
  return response.text();
}

/** The examples of `examples/`, and the chosen one. */
export default function Example({
  onSign,
  ...chosen
}: Chosen & { onSign: (isSigned: boolean) => void }) {
  const { file, product, licenseId, isSigned } = chosen;
  // Held here to survive a change of the language, which may show a skeleton first.
  const [spareKey, setSpareKey] = useState('');
  const source = useQuery({
    queryKey: ['example', file],
    queryFn: ({ signal }) => readExample(file, signal),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const address = useQuery(addressQuery);
  return (
    <>
      <nav
        aria-label={words.language}
        className="fade-right -mb-2 flex gap-1 overflow-x-auto rounded-lg p-0.5 pr-10 whitespace-nowrap"
      >
        {FILES.map((each) => (
          <Link
            key={each}
            to="/program"
            search={{
              productId: product.id,
              file: each,
              licenseId,
              ...(isSigned && { signed: true }),
            }}
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
      ) : address.error ? (
        <LoadFailure error={address.error} onRetry={address.refetch} />
      ) : source.data === undefined || address.data === undefined ? (
        <Skeleton lines={12} />
      ) : (
        <Filled
          {...chosen}
          source={source.data}
          address={address.data}
          onSign={onSign}
          spareKey={spareKey}
          onSpareKey={setSpareKey}
        />
      )}
    </>
  );
}

/** Code that is scrolled by itself. */
const Box = ({ label, children }: { label: string; children: ReactNode }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: who has no mouse scrolls it by keyboard
  <section aria-label={label} tabIndex={0} className="scroll-hint-right max-h-112 overflow-auto">
    {children}
  </section>
);

/** An example, filled in for a product of this service: the lines that call it, the file, and how to try it. */
function Filled({
  file,
  source,
  address,
  product: { id: productId, offlineDays },
  licenseId,
  isSigned,
  onSign,
  spareKey,
  onSpareKey,
}: Chosen & {
  source: string;
  address: ServiceAddress;
  onSign: (isSigned: boolean) => void;
  spareKey: string;
  onSpareKey: (text: string) => void;
}) {
  const mayCreate = useMay('writeLicenses');
  const [isOpen, setOpen] = useState(false);
  const license = useQuery({ ...licenseQuery(licenseId ?? 0), enabled: licenseId !== undefined });
  const tryKey = license.data?.item.licenseKey ?? words.tryKey;
  const { alg, compile, run, needs } = EXAMPLES[file];
  const serviceKeys = usePublicKeys(alg);
  const [serviceKey] = serviceKeys ?? [];
  const spare = spareKey.trim();
  const fault = spare && serviceKey ? faultOfSpareKey(spare, alg, serviceKey) : undefined;
  const publicKeys = [...(serviceKeys ?? []), ...(spare && !fault ? [spare] : [])];
  const values = {
    url: address.url,
    productId,
    ...(isSigned && publicKeys.length > 0 && { publicKeys: publicKeys.slice(0, 2).join(' ') }),
  };
  const filled = fillIn(source, values);
  const buildLine = isPackaged(file) ? BUILD_LINES[file](__VERSION__) : undefined;
  const lines = LINES[file](values, buildLine !== undefined);
  return (
    <>
      {buildLine && (
        <Section title={words.addTitle}>
          <div className="flex flex-col gap-3 px-4 py-4 sm:px-5">
            <Line label={words.copyBuildLine} text={buildLine} />
            <p className="text-muted">
              {words.addNote}{' '}
              <a
                href="/docs/packages"
                className="rounded-sm text-accent underline underline-offset-2"
              >
                {words.addMore}
              </a>
            </p>
          </div>
        </Section>
      )}
      <Section
        title={words.linesTitle}
        actions={<CopyButton value={lines} label={words.copyLines} />}
      >
        <div className="flex flex-col gap-2 px-4 pt-3 sm:px-5">
          <p className="text-muted">{words.filled(productId)}</p>
          {!address.isPublic && <AddressMark tone="warn" />}
        </div>
        <Box label={words.linesOf(file)}>
          <Code file={file}>{lines}</Code>
        </Box>
        <div className="flex flex-col gap-3 border-t border-line px-4 py-3 sm:px-5">
          {serviceKeys && (
            <Signing isSigned={isSigned} isPossible={serviceKeys.length > 0} onSign={onSign} />
          )}
          {values.publicKeys && offlineDays === 0 && (
            <p>
              {words.noLease}{' '}
              <TextLink to="/products/$id/edit" params={{ id: productId }} className="underline">
                {words.setLease}
              </TextLink>
            </p>
          )}
          {isSigned && serviceKeys?.length === 1 && (
            <div className="max-w-2xl">
              <TextField
                label={words.spareKey}
                name="spareKey"
                value={spareKey}
                onChange={({ currentTarget }) => onSpareKey(currentTarget.value)}
                error={fault && words.spareFaults[fault](alg)}
                hint={words.spareKeyHint(alg)}
              >
                <p role="status" className="text-good">
                  {spare && !fault && words.twoKeys}
                </p>
              </TextField>
            </div>
          )}
        </div>
      </Section>
      <Section
        title={file}
        note={words.forWhat[file]}
        actions={
          <div className="flex gap-2">
            <CopyButton value={filled} label={words.copy} />
            <Button onClick={() => saveFile(file, 'text/plain', [filled])}>
              <Download size={16} aria-hidden />
              {words.download}
            </Button>
          </div>
        }
      >
        <p className="px-4 pt-3 text-muted sm:px-5">
          {words.save(file, buildLine !== undefined)}
          {file === 'Licet.java' && (
            <>
              {' '}
              <a
                href="/docs/examples/LicetGuard.java"
                download
                className="rounded-sm text-accent underline underline-offset-2"
              >
                {words.guard}
              </a>
            </>
          )}
        </p>
        <details
          className="group"
          open={isOpen}
          onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
        >
          <summary className="flex min-h-11 cursor-pointer items-center gap-1.5 px-4 font-medium text-accent sm:px-5">
            <ChevronRight size={16} aria-hidden className="group-open:rotate-90" />
            {words.showFile(filled.trimEnd().split('\n').length)}
          </summary>
          {isOpen && (
            <Box label={words.code(file)}>
              <Code file={file}>{filled}</Code>
            </Box>
          )}
        </details>
      </Section>
      <Section title={words.tryTitle}>
        <div className="flex flex-col gap-3 px-4 py-4 sm:px-5">
          <p className="text-muted">{words.tryLead(needs)}</p>
          <Line
            label={words.tryCopy}
            text={`${compile ? `${compile} && ` : ''}LICET_KEY=${tryKey} ${run}`}
          />
          <p className="text-muted">{words.tryResult}</p>
          {mayCreate && (
            <p>
              <ButtonLink
                to="/licenses/new"
                search={{ productId, file, ...(isSigned && { signed: true }) }}
              >
                <Plus size={16} aria-hidden />
                {words.newLicense}
              </ButtonLink>
            </p>
          )}
        </div>
      </Section>
    </>
  );
}

/** A line for a terminal, and a button that copies it. */
const Line = ({ text, label }: { text: string; label: string }) => (
  <div className="flex items-center gap-2 rounded-lg bg-hover py-1 pr-1 pl-3">
    <code className="min-w-0 flex-1 font-mono text-[0.8125rem] break-all">{text}</code>
    <CopyButton value={text} label={label} isIcon />
  </div>
);

/** The switch for programs that believe signed responses only. */
const Signing = ({
  isSigned,
  isPossible,
  onSign,
}: {
  isSigned: boolean;
  /** False for a service without a key of the algorithm. */
  isPossible: boolean;
  onSign: (isSigned: boolean) => void;
}) => (
  <div>
    <label className="inline-flex min-h-9 items-center gap-2 font-medium pointer-coarse:min-h-11">
      <input
        type="checkbox"
        role="switch"
        aria-checked={isSigned && isPossible}
        checked={isSigned && isPossible}
        disabled={!isPossible}
        aria-describedby="signing"
        onChange={({ currentTarget }) => onSign(currentTarget.checked)}
      />
      {words.signed}
    </label>
    <p id="signing" className="text-muted">
      {!isPossible ? words.noKeys : isSigned ? words.signedLead : words.unsignedLead}{' '}
      <a href="/docs/signing" className="rounded-sm text-accent underline underline-offset-2">
        {words.signedMore}
      </a>
    </p>
  </div>
);
