import { LICENSE_STATUSES, LICENSE_TYPES } from '@licet/contract/enums';
import { createRoute, redirect } from '@tanstack/react-router';
import * as z from 'zod/mini';
import { lazyScreen } from '../../layout/lazy-screen.tsx';
import { rootRoute } from '../../layout/root.tsx';
import { day, entitlement, id, isNew, metadata, oneOf, text } from '../../search.ts';
import { exampleSearch } from '../program/search.ts';

export const QUESTIONS = ['expiring', 'expired', 'unused', 'dormant', 'full'] as const;
export const SORTS = ['id', '-id', 'expiryDate', '-expiryDate'] as const;

/**
 * The filters of the list. Those after the page are set by links from elsewhere: days of expiry (UTC), and the name
 * of one owner.
 */
const search = z.object({
  licenseStatus: oneOf(LICENSE_STATUSES),
  licenseType: oneOf(LICENSE_TYPES),
  productId: id,
  q: text,
  metadata,
  entitlement,
  question: oneOf(QUESTIONS),
  sort: oneOf(SORTS),
  after: id,
  expiresFrom: day,
  expiresTo: day,
  customerId: id,
  email: text,
  chatId: text,
  open: isNew,
});
export type LicensesSearch = z.output<typeof search>;

export const licensesRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: 'licenses',
  validateSearch: search,
  // The other lists open their form so.
  beforeLoad: ({ search: { open } }) => {
    if (open === 'new') throw redirect({ to: '/licenses/new', replace: true });
  },
  component: lazyScreen(() => import('./screen.tsx'), 'Screen'),
});

export const licenseNewRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: 'licenses/new',
  validateSearch: z.object({ productId: id, email: text, ...exampleSearch }),
  component: lazyScreen(() => import('./new.tsx'), 'Screen'),
});

/** The licenses from the first to the last id, which were created at once. */
export const licensesCreatedRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: 'licenses/created',
  validateSearch: z.object({ first: id, last: id }),
  component: lazyScreen(() => import('./created.tsx'), 'Screen'),
});
