import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import * as z from 'zod/mini';
import { rootRoute } from '../../layout/root.tsx';
import { id, oneOf } from '../../search.ts';
import { FILES } from './files.ts';

/** The parameters of the address. */
const search = z.object({
  productId: id,
  file: oneOf(FILES),
  signed: z.catch(z.optional(z.literal(true)), undefined),
});

export const programRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: 'program',
  validateSearch: search,
  component: lazyRouteComponent(() => import('./screen.tsx'), 'Screen'),
});
