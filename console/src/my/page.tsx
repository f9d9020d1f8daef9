import type { LinkFault, PortalData, Seller } from '@licet/contract/portal-page';
import { type ReactNode, useEffect, useState } from 'react';
import { buttonClass } from '../components/button-class.ts';
import { textColourOn } from './contrast.ts';
import { Discord } from './discord.tsx';
import { words } from './language.ts';
import { License } from './license.tsx';
import { Failure, readLicenses, readSeller, redeem, signOut } from './service.ts';

/** The part of the page below its head. */
type View =
  | { name: 'loading' }
  | { name: 'entry'; code: string }
  | { name: 'closed'; why: string | undefined }
  | { name: 'failed'; why: string }
  /** `why`: a link that did not open, while another session lasts. */
  | { name: 'licenses'; data: PortalData; why?: string | undefined };

const CODE = /^#code=(.+)$/;
const BRAND = 'bg-brand text-on-brand hover:opacity-90';

const codeInAddress = (): string | undefined => CODE.exec(location.hash)?.[1];

const whyFailed = (error: unknown): string =>
  error instanceof Failure && error.status === 429 ? words.tooMany : words.failed;

const isOver = (error: unknown): boolean => error instanceof Failure && error.status === 401;

/**
 * The licenses, unless there is no session.
 *
 * @param why why there may be none
 * @param fault why a link did not open, which is told also beside the licenses of another session
 */
async function viewOf(why?: string, fault?: string): Promise<View> {
  try {
    return { name: 'licenses', data: await readLicenses(), why: fault };
  } catch (error) {
    return isOver(error) ? { name: 'closed', why } : { name: 'failed', why: whyFailed(error) };
  }
}

/** The first view at the address of the page. */
async function firstView(): Promise<View> {
  const code = codeInAddress();
  return code === undefined ? viewOf() : { name: 'entry', code };
}

export function Page() {
  const [seller, setSeller] = useState<Seller>();
  const [view, setView] = useState<View>({ name: 'loading' });
  useEffect(() => {
    const begin = async (): Promise<void> => setView(await firstView());
    void begin();
    // The page works without the name of the seller.
    readSeller().then(setSeller, () => undefined);
    // Another link, opened in this tab, changes nothing but the code.
    addEventListener('hashchange', begin);
    return () => removeEventListener('hashchange', begin);
  }, []);
  useEffect(() => showSeller(seller), [seller]);

  const open = async (code: string): Promise<void> => {
    let fault: LinkFault | undefined;
    try {
      fault = await redeem(code);
    } catch (error) {
      setView({ name: 'failed', why: whyFailed(error) });
      return;
    }
    history.replaceState(null, '', '/my');
    // The link of a page that is open already was used by this browser.
    const told = fault && words.faults[fault];
    setView(await viewOf(told ?? words.noCookies, told));
  };
  const onFailure = (error: unknown): void =>
    setView(
      isOver(error)
        ? { name: 'closed', why: words.ended }
        : { name: 'failed', why: whyFailed(error) },
    );
  const leave = async (): Promise<void> => {
    try {
      await signOut();
      setView({ name: 'closed', why: undefined });
    } catch (error) {
      onFailure(error);
    }
  };

  return (
    <div className="mx-auto flex min-h-dvh max-w-2xl flex-col px-4 py-5">
      <header className="flex min-h-11 items-center gap-3">
        {seller?.logo && (
          <img src={seller.logo} alt="" className="size-10 rounded-lg object-contain" />
        )}
        <p className="min-w-0 flex-1 truncate text-base font-semibold">{seller?.name}</p>
        {view.name === 'licenses' && (
          <button type="button" className={buttonClass('quiet')} onClick={leave}>
            {words.signOut}
          </button>
        )}
      </header>
      <main className="flex-1 py-6">
        <Shown
          view={view}
          contact={seller?.contact ?? undefined}
          onOpen={open}
          onAgain={async () => setView(await firstView())}
          onFailure={onFailure}
          reload={async () => setView(await viewOf(words.ended))}
        />
      </main>
      {seller?.contact && (
        <footer className="border-t border-line pt-4">
          <a
            href={seller.contact}
            rel="noreferrer"
            className="inline-flex min-h-9 items-center underline underline-offset-2 pointer-coarse:min-h-11"
          >
            {words.help}
          </a>
        </footer>
      )}
    </div>
  );
}

function Shown({
  view,
  contact,
  onOpen,
  onAgain,
  onFailure,
  reload,
}: {
  view: View;
  contact: string | undefined;
  onOpen: (code: string) => Promise<void>;
  onAgain: () => Promise<void>;
  onFailure: (error: unknown) => void;
  reload: () => Promise<void>;
}) {
  switch (view.name) {
    case 'loading':
      return <p className="text-muted">{words.loading}</p>;
    case 'entry':
      return (
        <Message title={words.entryTitle} lead={words.entryLead}>
          <Primary onClick={() => onOpen(view.code)}>{words.open}</Primary>
        </Message>
      );
    case 'closed':
      return (
        <Message title={words.noLinkTitle} lead={words.noLinkLead} alert={view.why}>
          {null}
        </Message>
      );
    case 'failed':
      return (
        <Message title={words.title} lead="" alert={view.why}>
          <Primary onClick={onAgain}>{words.retry}</Primary>
        </Message>
      );
    case 'licenses':
      return (
        <>
          {view.why !== undefined && <Alert>{view.why}</Alert>}
          <h1 className="mb-4 text-xl font-semibold">{words.title}</h1>
          <div className="flex flex-col gap-4">
            {view.data.licenses.map((license) => (
              <License
                key={license.id}
                license={license}
                contact={contact}
                onFailure={onFailure}
                onChange={reload}
              />
            ))}
          </div>
          {view.data.licenses.length === 0 && <p>{words.none}</p>}
          {view.data.isCut && <p className="mt-4 text-muted">{words.cut}</p>}
          {view.data.canLinkDiscord && <Discord onFailure={onFailure} onLinked={reload} />}
        </>
      );
  }
}

/** Why something did not work. */
const Alert = ({ children }: { children: string }) => (
  <p role="alert" className="mb-4 w-full rounded-lg bg-warn-soft px-3 py-2 text-warn">
    {children}
  </p>
);

function Message({
  title,
  lead,
  alert,
  children,
}: {
  title: string;
  lead: string;
  alert?: string | undefined;
  children: ReactNode;
}) {
  return (
    <div className="flex flex-col items-start gap-4">
      {alert !== undefined && <Alert>{alert}</Alert>}
      <h1 className="text-xl font-semibold">{title}</h1>
      {lead && <p className="text-muted">{lead}</p>}
      {children}
    </div>
  );
}

function Primary({ onClick, children }: { onClick: () => Promise<void>; children: ReactNode }) {
  const [isBusy, setBusy] = useState(false);
  return (
    <button
      type="button"
      disabled={isBusy}
      className={buttonClass('primary', BRAND)}
      onClick={async () => {
        setBusy(true);
        await onClick();
        setBusy(false);
      }}
    >
      {children}
    </button>
  );
}

/** Gives the page the name and the colour of the seller. */
function showSeller(seller: Seller | undefined): void {
  document.title = seller?.name ? `${words.title} · ${seller.name}` : words.title;
  const { style } = document.documentElement;
  if (!seller?.colour) return;
  style.setProperty('--color-brand', seller.colour);
  style.setProperty('--color-on-brand', textColourOn(seller.colour));
}
