import { LICENSE_DATA_TYPES } from '@licet/contract/enums';
import { createRoute } from '@tanstack/react-router';
import * as z from 'zod/mini';
import { lazyScreen } from '../../layout/lazy-screen.tsx';
import { rootRoute } from '../../layout/root.tsx';
import { id, oneOf, open, text } from '../../search.ts';

const search = z.object({
  q: text,
  licenseDataType: oneOf(LICENSE_DATA_TYPES),
  productId: id,
  after: id,
  open,
});
export type BlacklistSearch = z.output<typeof search>;

export const blacklistRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: 'blacklist',
  validateSearch: search,
  component: lazyScreen(() => import('./screen.tsx'), 'Screen'),
});
