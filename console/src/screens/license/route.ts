import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { rootRoute } from '../../layout/root.tsx';

const params = {
  parse: ({ licenseId }: { licenseId: string }) => ({ licenseId: Number(licenseId) }),
  stringify: ({ licenseId }: { licenseId: number }) => ({ licenseId: String(licenseId) }),
};

export const licenseRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: 'licenses/$licenseId',
  params,
  component: lazyRouteComponent(() => import('./screen.tsx'), 'Screen'),
});

export const licenseEditRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: 'licenses/$licenseId/edit',
  params,
  component: lazyRouteComponent(() => import('./edit.tsx'), 'Screen'),
});
