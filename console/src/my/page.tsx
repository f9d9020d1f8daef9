import { textColourOn } from '@licet/contract/contrast';
import type { LinkFault, PortalData, Seller } from '@licet/contract/portal-page';
import { type ReactNode, useCallback, useEffect, useRef, useState } from 'react';
import { buttonClass } from '../components/button-class.ts';
import { isOver, useAct, whyFailed } from './act.ts';
import { BRAND } from './brand.ts';
import { words } from './language.ts';
import { Licenses } from './licenses.tsx';
import { LinkForm } from './link-form.tsx';
import { Alert } from './notice.tsx';
import { readLicenses, readSeller, redeem, signOut } from './service.ts';

/** The part of the page below its head. */
type View =
  | { name: 'loading' }
  | { name: 'entry'; code: string }
  | { name: 'closed'; why: string | undefined }
  | { name: 'failed'; why: string }
  /** `why`: a link that did not open, while another session lasts. */
  | { name: 'licenses'; data: PortalData; why?: string | undefined };

const CODE = /^#code=(.+)$/;

const codeInAddress = (): string | undefined => CODE.exec(location.hash)?.[1];

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
  const turns = useRef(0);
  /** Shows the view that is read, unless another one was asked for meanwhile. Undefined keeps the present one. */
  const show = useCallback(async (read: () => Promise<View | undefined>): Promise<void> => {
    const turn = ++turns.current;
    const next = await read();
    if (next && turn === turns.current) setView(next);
  }, []);
  const begin = useCallback(async (): Promise<void> => {
    // The page works without the name of the seller.
    readSeller().then(setSeller, () => undefined);
    await show(firstView);
  }, [show]);
  useEffect(() => {
    void begin();
    // Another link, opened in this tab, changes nothing but the code.
    addEventListener('hashchange', begin);
    return () => removeEventListener('hashchange', begin);
  }, [begin]);
  useEffect(() => showSeller(seller), [seller]);
  const before = useRef(view.name);
  useEffect(() => {
    // The button that had the focus is gone.
    if (before.current !== 'loading') document.querySelector('h1')?.focus();
    before.current = view.name;
  }, [view.name]);

  const end = (): Promise<void> => show(async () => ({ name: 'closed', why: words.ended }));
  const { act, isBusy, fault } = useAct(end);
  const open = (code: string): Promise<void> =>
    show(async () => {
      let fault: LinkFault | undefined;
      try {
        fault = await redeem(code);
      } catch (error) {
        return { name: 'failed', why: whyFailed(error) };
      }
      history.replaceState(null, '', '/my');
      // The link of a page that is open already was used by this browser.
      const told = fault && words.faults[fault];
      return viewOf(told ?? words.noCookies, told);
    });
  const leave = async (): Promise<void> => {
    const isOut = await act(async () => {
      await signOut();
      return true;
    });
    if (isOut) await show(async () => ({ name: 'closed', why: undefined }));
  };
  /** Shows the licenses as they are now; as they were if they cannot be read. */
  const reload = (): Promise<void> =>
    show(async () => {
      const next = await viewOf(words.ended);
      return next.name === 'failed' ? undefined : next;
    });
  const contact = seller?.contact ?? undefined;
  const logo = seller?.logo && (
    <img src={seller.logo} alt="" className="size-10 shrink-0 rounded-lg object-contain" />
  );

  if (view.name !== 'licenses') {
    return (
      <div className="flex min-h-dvh flex-col items-center justify-center p-4">
        <main className="w-full max-w-[25rem] rounded-xl border border-line bg-surface p-5 sm:p-6">
          {(logo || seller?.name) && (
            <div className="mb-5 flex items-center gap-3">
              {logo}
              <p className="min-w-0 text-base font-semibold [overflow-wrap:anywhere]">
                {seller?.name}
              </p>
            </div>
          )}
          <Before view={view} contact={contact} seller={seller} onOpen={open} onAgain={begin} />
        </main>
      </div>
    );
  }
  const title = (
    <h1
      tabIndex={-1}
      className="min-w-0 flex-1 text-xl font-semibold [overflow-wrap:anywhere] outline-none"
    >
      {words.title}
    </h1>
  );
  return (
    <div className="mx-auto flex min-h-dvh max-w-2xl flex-col px-4 py-5">
      <header className="flex min-h-11 items-center gap-3">
        {logo}
        {seller?.name ? (
          <p
            className="line-clamp-2 min-w-0 flex-1 text-base font-semibold [overflow-wrap:anywhere]"
            title={seller.name}
          >
            {seller.name}
          </p>
        ) : (
          title
        )}
        <button
          type="button"
          className={buttonClass('quiet', '-mr-3')}
          disabled={isBusy}
          onClick={leave}
        >
          {words.signOut}
        </button>
      </header>
      <main className="flex-1 pt-4 pb-6">
        {view.why !== undefined && <Alert className="mb-4">{view.why}</Alert>}
        {fault !== undefined && <Alert className="mb-4">{fault}</Alert>}
        {seller?.name && <div className="mb-4 flex">{title}</div>}
        <Licenses data={view.data} contact={contact} onOver={end} onChange={reload} />
      </main>
      {/* An empty list has a button for it. */}
      {contact !== undefined && view.data.licenses.length > 0 && (
        <footer className="border-t border-line pt-4">
          <a
            href={contact}
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

/** The page before it shows licenses. */
function Before({
  view,
  contact,
  seller,
  onOpen,
  onAgain,
}: {
  view: Exclude<View, { name: 'licenses' }>;
  contact: string | undefined;
  seller: Seller | undefined;
  onOpen: (code: string) => Promise<void>;
  onAgain: () => Promise<void>;
}) {
  const help = contact !== undefined && (
    <a href={contact} rel="noreferrer" className={buttonClass()}>
      {words.help}
    </a>
  );
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
          {seller?.hasMail && <LinkForm />}
          <ul className="flex list-disc flex-col gap-1 pl-5">
            <li>{words.ways.shop}</li>
            {seller?.hasDiscord && <li>{words.ways.discord}</li>}
          </ul>
          {help}
        </Message>
      );
    case 'failed':
      return (
        <Message title={words.title} alert={view.why}>
          <div className="flex flex-wrap gap-2">
            <Primary onClick={onAgain}>{words.retry}</Primary>
            {help}
          </div>
        </Message>
      );
  }
}

function Message({
  title,
  lead,
  alert,
  children,
}: {
  title: string;
  lead?: string;
  alert?: string | undefined;
  children: ReactNode;
}) {
  return (
    <div className="flex flex-col items-start gap-4">
      <h1 tabIndex={-1} className="text-xl font-semibold [overflow-wrap:anywhere] outline-none">
        {title}
      </h1>
      {alert !== undefined && <Alert>{alert}</Alert>}
      {lead !== undefined && <p className="text-muted">{lead}</p>}
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
