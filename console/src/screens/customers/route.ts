import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import * as z from 'zod/mini';
import { rootRoute } from '../../layout/root.tsx';
import { id, open, text } from '../../search.ts';

export const customersRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: 'customers',
  validateSearch: z.object({ q: text, after: id, open }),
  component: lazyRouteComponent(() => import('./screen.tsx'), 'Screen'),
});
