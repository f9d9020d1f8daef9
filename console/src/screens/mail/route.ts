import { MAIL_KINDS, MAIL_STATES } from '@licet/contract/mail-kinds';
import { createRoute } from '@tanstack/react-router';
import * as z from 'zod/mini';
import { lazyScreen } from '../../layout/lazy-screen.tsx';
import { rootRoute } from '../../layout/root.tsx';
import { oneOf } from '../../search.ts';

export const mailRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: 'settings/mail',
  /** The listed mails. */
  validateSearch: z.object({ state: oneOf(MAIL_STATES), kind: oneOf(MAIL_KINDS) }),
  component: lazyScreen(() => import('./screen.tsx'), 'Screen'),
});
