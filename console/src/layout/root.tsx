import { CSPProvider } from '@base-ui/react/csp-provider';
import { useQuery } from '@tanstack/react-query';
import { createRootRoute, useLocation } from '@tanstack/react-router';
import { SESSION_QUERY } from '../api.ts';
import { LoadFailure, Skeleton } from '../components/page.tsx';
import { ToastHost } from '../components/toasts.tsx';
import { LogIn } from '../screens/log-in/screen.tsx';
import { Layout, NotFound, ScreenFailure } from './layout.tsx';

/** The layout with a session, else the log-in. The address stays: after the log-in its screen appears. */
function Root() {
  const { hash } = useLocation();
  const code = /^code=(.+)$/.exec(hash)?.[1];
  const session = useQuery({ ...SESSION_QUERY, enabled: code === undefined });
  return (
    <CSPProvider disableStyleElements>
      {code !== undefined || session.data === null ? (
        <LogIn code={code} />
      ) : session.data ? (
        <Layout />
      ) : session.error ? (
        <LoadFailure error={session.error} onRetry={session.refetch} />
      ) : (
        <Skeleton />
      )}
      <ToastHost />
    </CSPProvider>
  );
}

/** The parent of the screens' routes. */
export const rootRoute = createRootRoute({
  component: Root,
  notFoundComponent: NotFound,
  errorComponent: ScreenFailure,
});
