import type { LinkProps } from '@tanstack/react-router';
import { type ComponentProps, type ReactNode, useEffect } from 'react';
import { describe, hasStatus } from '../api.ts';
import { texts } from '../texts.ts';
import { Button, ButtonLink } from './button.tsx';
import { CircleAlert } from './icons.tsx';

/** A screen: its title, which is the document's too, its actions, and its content. */
export function Page({
  title,
  heading = title,
  lead,
  actions,
  children,
}: {
  title: string;
  /** In place of the title at the top of the screen. */
  heading?: ReactNode;
  lead?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}) {
  useEffect(() => {
    document.title = `${title} · ${texts.product}`;
  }, [title]);
  return (
    <div className="mx-auto flex w-full max-w-7xl flex-col gap-5 px-4 py-5 sm:px-6 lg:py-8">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-3 sm:items-start">
        {/* Below 1,024 px a long title takes a line of its own, above the actions. */}
        <div className={`flex-1 ${lead ? 'min-w-52' : 'min-w-0 max-lg:basis-auto'}`}>
          <h1 className="text-xl font-semibold tracking-tight break-words sm:py-1">{heading}</h1>
          {lead && <div className="mt-1 text-muted sm:mt-0">{lead}</div>}
        </div>
        {actions && (
          <div className="flex flex-wrap items-center gap-1.5 sm:gap-2 max-sm:[&>a]:px-2.5 max-sm:[&>button]:px-2.5">
            {actions}
          </div>
        )}
      </div>
      {children}
    </div>
  );
}

/** A part of a screen with a heading. */
export function Section({
  title,
  note,
  actions,
  children,
}: {
  title: string;
  /** Beside the title. */
  note?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}) {
  return (
    <section
      aria-label={title}
      className="flex min-w-0 flex-col rounded-xl border border-line bg-surface"
    >
      <div className="flex min-h-12 flex-wrap items-center gap-x-3 gap-y-1 px-4 py-1.5 sm:px-5">
        <div className="flex flex-1 flex-wrap items-center gap-x-3">
          <h2 className="font-semibold">{title}</h2>
          {note && <span className="text-muted">{note}</span>}
        </div>
        {actions && (
          <div className="-mr-2 flex flex-wrap items-center gap-2 sm:justify-end">{actions}</div>
        )}
      </div>
      <div className="min-w-0 border-t border-line">{children}</div>
    </section>
  );
}

/** Says that a list is empty, and names the first step. */
export function Empty({
  title,
  children,
  actions,
}: {
  title?: string;
  children: ReactNode;
  actions?: ReactNode;
}) {
  return (
    <div className="flex flex-col items-center gap-2 px-6 py-10 text-center">
      {title && <p className="text-base font-semibold">{title}</p>}
      <p className="max-w-prose text-balance text-muted">{children}</p>
      {actions && <div className="mt-3 flex flex-wrap justify-center gap-2">{actions}</div>}
    </div>
  );
}

/** The same in place of a whole screen. */
export const EmptyScreen = (props: ComponentProps<typeof Empty>) => (
  <div className="rounded-xl border border-line bg-surface">
    <Empty {...props} />
  </div>
);

/** Says that no row passes the filters; `to` is the screen without them. */
export const NoMatch = ({
  to,
  children = texts.table.noMatchLead,
}: {
  to: NonNullable<LinkProps['to']>;
  children?: ReactNode;
}) => (
  <Empty
    title={texts.table.noMatch}
    actions={<ButtonLink to={to}>{texts.table.clearFilters}</ButtonLink>}
  >
    {children}
  </Empty>
);

/** Shows why something could not be loaded, with a button that tries again where that can help. */
export const LoadFailure = ({ error, onRetry }: { error: unknown; onRetry: () => void }) => (
  <div role="alert" className="flex flex-col items-center gap-2 px-6 py-10 text-center">
    <p className="font-semibold">{texts.errors.title}</p>
    <p className="max-w-prose text-muted">{describe(error)}</p>
    {!hasStatus(error, 403) && (
      <div className="mt-3">
        <Button onClick={onRetry}>{texts.actions.retry}</Button>
      </div>
    )}
  </div>
);

/** Grey lines in place of content that is loading. */
export const Skeleton = ({ lines = 4 }: { lines?: number }) => (
  <div role="status" aria-label={texts.loading} className="flex flex-col gap-3 p-5">
    {Array.from({ length: lines }, (_, index) => (
      <div
        // biome-ignore lint/suspicious/noArrayIndexKey: the lines are alike and never move
        key={index}
        className={`h-4 animate-pulse rounded bg-hover ${index % 3 === 2 ? 'w-1/2' : 'w-full'}`}
      />
    ))}
  </div>
);

/** A message inside a screen or a form. */
export const Notice = ({
  tone = 'neutral',
  children,
}: {
  tone?: 'neutral' | 'bad' | 'warn';
  children: ReactNode;
}) => (
  <div
    role={tone === 'bad' ? 'alert' : undefined}
    className={`rounded-lg px-4 py-3 ${
      { neutral: 'bg-hover text-ink', bad: 'bg-bad-soft text-bad', warn: 'bg-warn-soft text-warn' }[
        tone
      ]
    }`}
  >
    {children}
  </div>
);

/**
 * The mark of an address of the service that others cannot open, with the remedy (3.3).
 *
 * @param tone `warn` where the address may be tried on this machine first
 */
export const AddressMark = ({ tone = 'bad' }: { tone?: 'bad' | 'warn' }) => (
  <p className={`flex gap-2 ${tone === 'bad' ? 'text-bad' : 'text-warn'}`}>
    <CircleAlert size={16} aria-hidden className="mt-0.5 shrink-0" />
    <span>
      {texts.ownAddress}{' '}
      <a
        href="/docs/one-machine#behind-a-proxy"
        target="_blank"
        rel="noreferrer"
        className="rounded-sm whitespace-nowrap underline underline-offset-2"
      >
        {texts.ownAddressGuide}
      </a>
    </span>
  </p>
);

/** Names and values, such as the details of a license. */
export const Facts = ({
  rows,
}: {
  rows: readonly (readonly [name: string, value: ReactNode])[];
}) => (
  <dl className="grid grid-cols-[fit-content(38%)_minmax(0,1fr)] items-baseline gap-x-4 sm:grid-cols-[fit-content(40%)_minmax(0,1fr)] sm:gap-x-6 gap-y-2.5 px-4 py-4 sm:px-5">
    {rows.map(([name, value]) => (
      <div key={name} className="contents">
        <dt className="text-muted sm:min-w-24">{name}</dt>
        <dd className="min-w-0 break-words">{value}</dd>
      </div>
    ))}
  </dl>
);
