import { createRouter, parseSearchWith, stringifySearchWith } from '@tanstack/react-router';
import { Skeleton } from './components/page';
import { NotFound, ScreenFailure } from './frame/frame';
import { rootRoute } from './frame/root';
import { blacklistRoute } from './screens/blacklist/route';
import { customersRoute } from './screens/customers/route';
import { eventsRoute } from './screens/events/route';
import { historyRoute } from './screens/history/route';
import { importRoute } from './screens/import/route';
import { licenseEditRoute, licenseRoute } from './screens/license/route';
import { licenseNewRoute, licensesRoute } from './screens/licenses/route';
import { overviewRoute } from './screens/overview/route';
import { productsRoute } from './screens/products/route';
import { programRoute } from './screens/program/route';
import { tokensRoute } from './screens/tokens/route';
import { parseValue } from './search';

/** Each screen has a folder with `route.ts`, which checks the address, and `screen.tsx`, which is loaded on demand. */
export const router = createRouter({
  basepath: '/console',
  parseSearch: parseSearchWith(parseValue),
  stringifySearch: stringifySearchWith(JSON.stringify, parseValue),
  routeTree: rootRoute.addChildren([
    overviewRoute,
    licensesRoute,
    licenseNewRoute,
    licenseRoute,
    licenseEditRoute,
    historyRoute,
    productsRoute,
    customersRoute,
    blacklistRoute,
    tokensRoute,
    eventsRoute,
    importRoute,
    programRoute,
  ]),
  defaultPreload: 'intent',
  defaultPendingComponent: Skeleton,
  defaultErrorComponent: ScreenFailure,
  defaultNotFoundComponent: NotFound,
  scrollRestoration: true,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}

declare module '@tanstack/history' {
  interface HistoryState {
    /** The `after` of the pages of a list before this one. */
    trail?: readonly number[];
  }
}
