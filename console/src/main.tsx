import './styles.css';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { options } from 'preact';
import { createRoot } from 'react-dom/client';
import { askAgain, followSession, queries, SESSION_QUERY } from './api.ts';
import { router } from './router.ts';
import { listenToRows } from './row-targets.ts';
import { showTheme } from './theme.ts';

/** Without a request for so long, the first screen is there. */
const REST_MS = 3_000;

showTheme();
const place = document.getElementById('console');
if (!place) throw new Error('The page has no place for the console');
// Effects follow a render at once, and not a frame later: a key pressed as soon as a dialog is seen reaches it.
options.requestAnimationFrame = (callback) => void setTimeout(callback);
// Asked while the code of the screen loads. A link that logs in has no session yet.
if (!location.hash.startsWith('#code=')) void queries.prefetchQuery(SESSION_QUERY);
listenToRows();
// Back after a log-out can bring the page as the browser froze it, with all that it showed.
addEventListener('pageshow', async ({ persisted }) => {
  if (!persisted) return;
  document.body.hidden = true;
  await askAgain();
  document.body.hidden = false;
});
addEventListener('storage', followSession);
createRoot(place).render(
  <QueryClientProvider client={queries}>
    <RouterProvider router={router} />
  </QueryClientProvider>,
);
// Loaded after the first screen, so that messages, questions and the search also appear without a network. A slow
// browser is still busy with that screen after any fixed time.
let rest: ReturnType<typeof setTimeout> | undefined;
const stopWaiting = queries.getQueryCache().subscribe(() => {
  clearTimeout(rest);
  if (!queries.getQueryData(SESSION_QUERY.queryKey) || queries.isFetching() > 0) return;
  rest = setTimeout(() => {
    stopWaiting();
    void Promise.allSettled([
      import('./components/toast-host.tsx'),
      import('./components/dialog-popup.tsx'),
      import('./components/confirm-popup.tsx'),
      import('./layout/palette.tsx'),
    ]);
  }, REST_MS);
});
