import type { MailText } from '@licet/contract/mail';
import type { MailLanguage, MailTextKind } from '@licet/contract/mail-kinds';

/** The words of mails in the languages of the customer's page (13). */

type Texts = Required<MailText>;

interface Words {
  kinds: Record<MailTextKind, Texts>;
  test: Texts;
  /** Between a label and its value. */
  colon: string;
  product: string;
  key: string;
  validity: string;
  forever: string;
  until: (date: string) => string;
  fromFirstUse: (days: number) => string;
  inDays: (days: number) => string;
  /** For the products of a list that have no place. */
  others: (count: number) => string;
  openPage: string;
  openLink: string;
  onceOnly: string;
  renew: string;
  help: string;
  noMore: string;
}

export const WORDS: Readonly<Record<MailLanguage, Words>> = {
  en: {
    kinds: {
      key: {
        subject: 'Your license key for {product}',
        greeting: 'Hello {name},\n\nHere is your license key for {product}.',
        closing: 'Keep this e-mail, and keep the key to yourself.',
      },
      link: {
        subject: 'Your link to your licenses',
        greeting: 'Hello {name},\n\nThis link opens your licenses.',
        closing: 'You did not ask for this link? Then ignore this e-mail: nothing will happen.',
      },
      expiring: {
        subject: 'Expires on {expiry}: {product}',
        greeting: 'Hello {name},\n\nThis expires soon:',
        closing: 'After that day, programs with an expired license stop working.',
      },
    },
    test: {
      subject: 'Test: your e-mails arrive',
      greeting: 'Hello,\n\nThis is a test from your license service.',
      closing: 'E-mails to your customers leave in the same way.',
    },
    colon: ': ',
    product: 'Product',
    key: 'License key',
    validity: 'Expires',
    forever: 'never',
    until: (date) => date,
    fromFirstUse: (days) => `${days === 1 ? '1 day' : `${days} days`} after the first use`,
    inDays: (days) => (days === 1 ? 'in 1 day' : `in ${days} days`),
    others: (count) => (count === 1 ? '1 other' : `${count} others`),
    openPage: 'See my licenses',
    openLink: 'Open my licenses',
    onceOnly: 'The link works once, within 60 minutes.',
    renew: 'Renew',
    help: 'Get help',
    noMore: 'Stop these reminders',
  },
  de: {
    kinds: {
      key: {
        subject: 'Dein Lizenzschlüssel für {product}',
        greeting: 'Hallo {name},\n\nhier ist dein Lizenzschlüssel für {product}.',
        closing: 'Hebe diese Mail auf und behalte den Schlüssel für dich.',
      },
      link: {
        subject: 'Dein Link zu deinen Lizenzen',
        greeting: 'Hallo {name},\n\nmit diesem Link öffnest du deine Lizenzen.',
        closing:
          'Du hast diesen Link nicht angefordert? Dann ignoriere diese Mail: Es passiert nichts.',
      },
      expiring: {
        subject: 'Läuft am {expiry} ab: {product}',
        greeting: 'Hallo {name},\n\ndas läuft bald ab:',
        closing: 'Danach funktionieren Programme mit einer abgelaufenen Lizenz nicht mehr.',
      },
    },
    test: {
      subject: 'Test: Mails kommen an',
      greeting: 'Hallo,\n\ndas ist ein Test deines Lizenzdienstes.',
      closing: 'Mails an deine Kunden nehmen denselben Weg.',
    },
    colon: ': ',
    product: 'Produkt',
    key: 'Lizenzschlüssel',
    validity: 'Gültig',
    forever: 'unbegrenzt',
    until: (date) => `bis zum ${date}`,
    fromFirstUse: (days) => `${days === 1 ? '1 Tag' : `${days} Tage`} ab der ersten Benutzung`,
    inDays: (days) => (days === 1 ? 'in 1 Tag' : `in ${days} Tagen`),
    others: (count) => (count === 1 ? '1 weiteres' : `${count} weitere`),
    openPage: 'Meine Lizenzen ansehen',
    openLink: 'Meine Lizenzen öffnen',
    onceOnly: 'Der Link gilt nur einmal und nur 60 Minuten lang.',
    renew: 'Verlängern',
    help: 'Hilfe',
    noMore: 'Keine Erinnerungen mehr',
  },
  fr: {
    kinds: {
      key: {
        subject: 'Votre clé de licence pour {product}',
        greeting: 'Bonjour {name},\n\nVoici votre clé de licence pour {product}.',
        closing: 'Conservez cet e-mail, et gardez la clé pour vous.',
      },
      link: {
        subject: 'Votre lien vers vos licences',
        greeting: 'Bonjour {name},\n\nCe lien ouvre vos licences.',
        closing: 'Vous n’avez pas demandé ce lien ? Ignorez cet e-mail : il ne se passera rien.',
      },
      expiring: {
        subject: 'Expire le {expiry} : {product}',
        greeting: 'Bonjour {name},\n\nCeci expire bientôt :',
        closing: 'Après cette date, les programmes dont la licence a expiré ne fonctionnent plus.',
      },
    },
    test: {
      subject: 'Test : les e-mails arrivent',
      greeting: 'Bonjour,\n\nCeci est un test de votre service de licences.',
      closing: 'Les e-mails à vos clients partent de la même façon.',
    },
    colon: ' : ',
    product: 'Produit',
    key: 'Clé de licence',
    validity: 'Validité',
    forever: 'illimitée',
    until: (date) => `jusqu’au ${date}`,
    fromFirstUse: (days) =>
      `${days === 1 ? '1 jour' : `${days} jours`} à partir de la première utilisation`,
    inDays: (days) => (days === 1 ? 'dans 1 jour' : `dans ${days} jours`),
    others: (count) => (count === 1 ? '1 autre' : `${count} autres`),
    openPage: 'Voir mes licences',
    openLink: 'Ouvrir mes licences',
    onceOnly: 'Le lien ne sert qu’une fois, et il est valable 60 minutes.',
    renew: 'Renouveler',
    help: 'Aide',
    noMore: 'Ne plus recevoir de rappels',
  },
  es: {
    kinds: {
      key: {
        subject: 'Tu clave de licencia para {product}',
        greeting: 'Hola, {name}:\n\nAquí tienes tu clave de licencia para {product}.',
        closing: 'Conserva este correo y no des la clave a nadie.',
      },
      link: {
        subject: 'Tu enlace a tus licencias',
        greeting: 'Hola, {name}:\n\nEste enlace abre tus licencias.',
        closing: '¿No has pedido este enlace? Ignora este correo: no pasará nada.',
      },
      expiring: {
        subject: 'Caduca el {expiry}: {product}',
        greeting: 'Hola, {name}:\n\nEsto caduca pronto:',
        closing: 'Después de ese día, los programas con una licencia caducada dejan de funcionar.',
      },
    },
    test: {
      subject: 'Prueba: los correos llegan',
      greeting: 'Hola:\n\nEsta es una prueba de tu servicio de licencias.',
      closing: 'Los correos a tus clientes salen de la misma manera.',
    },
    colon: ': ',
    product: 'Producto',
    key: 'Clave de licencia',
    validity: 'Validez',
    forever: 'ilimitada',
    until: (date) => `hasta el ${date}`,
    fromFirstUse: (days) => `${days === 1 ? '1 día' : `${days} días`} desde el primer uso`,
    inDays: (days) => (days === 1 ? 'dentro de 1 día' : `dentro de ${days} días`),
    others: (count) => (count === 1 ? '1 más' : `${count} más`),
    openPage: 'Ver mis licencias',
    openLink: 'Abrir mis licencias',
    onceOnly: 'El enlace sirve una sola vez, durante 60 minutos.',
    renew: 'Renovar',
    help: 'Ayuda',
    noMore: 'No recibir más recordatorios',
  },
  pt: {
    kinds: {
      key: {
        subject: 'A sua chave de licença para {product}',
        greeting: 'Olá {name},\n\nAqui está a sua chave de licença para {product}.',
        closing: 'Guarde este e-mail e não dê a chave a ninguém.',
      },
      link: {
        subject: 'O seu link para as suas licenças',
        greeting: 'Olá {name},\n\nEste link abre as suas licenças.',
        closing: 'Não pediu este link? Ignore este e-mail: não acontecerá nada.',
      },
      expiring: {
        subject: 'Expira em {expiry}: {product}',
        greeting: 'Olá {name},\n\nIsto expira em breve:',
        closing: 'Depois desse dia, os programas com uma licença expirada deixam de funcionar.',
      },
    },
    test: {
      subject: 'Teste: os e-mails chegam',
      greeting: 'Olá,\n\nEste é um teste do seu serviço de licenças.',
      closing: 'Os e-mails aos seus clientes saem da mesma forma.',
    },
    colon: ': ',
    product: 'Produto',
    key: 'Chave de licença',
    validity: 'Validade',
    forever: 'ilimitada',
    until: (date) => `até ${date}`,
    fromFirstUse: (days) => `${days === 1 ? '1 dia' : `${days} dias`} a partir do primeiro uso`,
    inDays: (days) => (days === 1 ? 'dentro de 1 dia' : `dentro de ${days} dias`),
    others: (count) => (count === 1 ? '1 outro' : `${count} outros`),
    openPage: 'Ver as minhas licenças',
    openLink: 'Abrir as minhas licenças',
    onceOnly: 'O link funciona uma só vez, durante 60 minutos.',
    renew: 'Renovar',
    help: 'Ajuda',
    noMore: 'Não receber mais lembretes',
  },
};
