import { createRoute } from '@tanstack/react-router';
import * as z from 'zod/mini';
import { lazyScreen } from '../../layout/lazy-screen.tsx';
import { rootRoute } from '../../layout/root.tsx';
import { id, oneOf, text } from '../../search.ts';

export const PERIODS = ['hour', 'day', 'week', 'month'] as const;

const time = z.catch(z.optional(z.iso.datetime({ offset: true })), undefined);

/** The filters of the list. `from` and `to` are set by links from elsewhere. */
const search = z.object({
  licenseKey: text,
  ip: text,
  hwid: text,
  productId: id,
  valid: z.catch(z.optional(z.boolean()), undefined),
  period: oneOf(PERIODS),
  from: time,
  to: time,
  after: id,
  /** The record in the pane. */
  open: id,
});
export type HistorySearch = z.output<typeof search>;

export const historyRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: 'history',
  validateSearch: search,
  component: lazyScreen(() => import('./screen.tsx'), 'Screen'),
});
