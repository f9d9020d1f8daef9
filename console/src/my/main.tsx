import '../styles.css';
import { createRoot } from 'react-dom/client';
import { Page } from './page.tsx';

const place = document.getElementById('my');
if (!place) throw new Error('The page has no place for the licenses');
// Back after a sign-out can bring the page as the browser froze it, with all that it showed.
addEventListener('pageshow', ({ persisted }) => {
  if (persisted) location.reload();
});
createRoot(place).render(<Page />);
