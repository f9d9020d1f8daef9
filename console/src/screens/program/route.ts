import { createRoute } from '@tanstack/react-router';
import * as z from 'zod/mini';
import { lazyScreen } from '../../layout/lazy-screen.tsx';
import { rootRoute } from '../../layout/root.tsx';
import { id } from '../../search.ts';
import { exampleSearch } from './search.ts';

/** The parameters of the address: `licenseId` is that of a license to try the example with. */
const search = z.object({
  productId: id,
  ...exampleSearch,
  licenseId: id,
});

export const programRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: 'program',
  validateSearch: search,
  component: lazyScreen(() => import('./screen.tsx'), 'Screen'),
});
