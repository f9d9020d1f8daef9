import { Empty, Page } from '../../components/page';
import { texts } from '../../texts';

export const Screen = () => (
  <Page title={texts.navigation.history}>
    <Empty>{texts.errors.soon}</Empty>
  </Page>
);
