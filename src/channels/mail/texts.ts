import type { MailText } from '@licet/contract/mail';
import type { MailLanguage, MailTextKind } from '@licet/contract/mail-kinds';

/** The words of mails in the languages of the customer's page (13). */

type Texts = Required<MailText>;

interface Words {
  kinds: Record<MailTextKind, Texts>;
  test: Texts;
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
        greeting: 'Hello {name},\n\nhere is your license key for {product}.',
        closing: 'Keep this mail, and keep the key to yourself.',
      },
      link: {
        subject: 'Your link to your licenses',
        greeting: 'Hello {name},\n\nthis link opens your licenses.',
        closing: 'You did not ask for it? Then ignore this mail: nothing happens.',
      },
      expiring: {
        subject: 'Ends on {expiry}: {product}',
        greeting: 'Hello {name},\n\nthe end is near for:',
        closing: 'After that, programs with an expired license stop working.',
      },
    },
    test: {
      subject: 'Test: mails arrive',
      greeting: 'Hello,\n\nthis is a test from the settings of your license service.',
      closing: 'Mails to your customers leave in the same way.',
    },
    product: 'Product',
    key: 'License key',
    validity: 'Valid',
    forever: 'does not expire',
    until: (date) => `until ${date}`,
    fromFirstUse: (days) => `days from the first use: ${days}`,
    inDays: (days) => (days === 1 ? 'in 1 day' : `in ${days} days`),
    others: (count) => (count === 1 ? '1 other' : `${count} others`),
    openPage: 'See my licenses',
    openLink: 'Open my licenses',
    onceOnly: 'The link works once, within 60 minutes.',
    renew: 'Renew',
    help: 'Get help',
    noMore: 'No more reminders',
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
        closing: 'Du hast ihn nicht angefordert? Dann ignoriere diese Mail: Es passiert nichts.',
      },
      expiring: {
        subject: 'Endet am {expiry}: {product}',
        greeting: 'Hallo {name},\n\nbald läuft ab:',
        closing: 'Danach laufen Programme mit einer abgelaufenen Lizenz nicht mehr.',
      },
    },
    test: {
      subject: 'Test: Mails kommen an',
      greeting: 'Hallo,\n\ndas ist ein Test aus den Einstellungen deines Lizenzdienstes.',
      closing: 'Mails an deine Kunden gehen auf demselben Weg.',
    },
    product: 'Produkt',
    key: 'Lizenzschlüssel',
    validity: 'Gültig',
    forever: 'läuft nicht ab',
    until: (date) => `bis ${date}`,
    fromFirstUse: (days) => `Tage ab der ersten Benutzung: ${days}`,
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
        greeting: 'Bonjour {name},\n\nvoici votre clé de licence pour {product}.',
        closing: 'Conservez cet e-mail, et gardez la clé pour vous.',
      },
      link: {
        subject: 'Votre lien vers vos licences',
        greeting: 'Bonjour {name},\n\nce lien ouvre vos licences.',
        closing: 'Vous ne l’avez pas demandé ? Ignorez cet e-mail : rien ne se passe.',
      },
      expiring: {
        subject: 'Fin le {expiry} : {product}',
        greeting: 'Bonjour {name},\n\nexpiration prochaine :',
        closing: 'Ensuite, les programmes dont la licence a expiré ne fonctionnent plus.',
      },
    },
    test: {
      subject: 'Test : les e-mails arrivent',
      greeting: 'Bonjour,\n\nceci est un test depuis les paramètres de votre service de licences.',
      closing: 'Les e-mails à vos clients partent de la même façon.',
    },
    product: 'Produit',
    key: 'Clé de licence',
    validity: 'Validité',
    forever: 'n’expire pas',
    until: (date) => `jusqu’au ${date}`,
    fromFirstUse: (days) => `jours à partir de la première utilisation : ${days}`,
    inDays: (days) => (days === 1 ? 'dans 1 jour' : `dans ${days} jours`),
    others: (count) => (count === 1 ? '1 autre' : `${count} autres`),
    openPage: 'Voir mes licences',
    openLink: 'Ouvrir mes licences',
    onceOnly: 'Le lien ne sert qu’une fois, pendant 60 minutes.',
    renew: 'Renouveler',
    help: 'Aide',
    noMore: 'Ne plus recevoir de rappels',
  },
  es: {
    kinds: {
      key: {
        subject: 'Tu clave de licencia de {product}',
        greeting: 'Hola {name}:\n\nAquí tienes tu clave de licencia de {product}.',
        closing: 'Conserva este correo y no des la clave a nadie.',
      },
      link: {
        subject: 'Tu enlace a tus licencias',
        greeting: 'Hola {name}:\n\nEste enlace abre tus licencias.',
        closing: '¿No lo has pedido? Ignora este correo: no pasa nada.',
      },
      expiring: {
        subject: 'Caduca el {expiry}: {product}',
        greeting: 'Hola {name}:\n\nCaduca pronto:',
        closing: 'Después, los programas con una licencia caducada dejan de funcionar.',
      },
    },
    test: {
      subject: 'Prueba: los correos llegan',
      greeting: 'Hola:\n\nEsta es una prueba desde los ajustes de tu servicio de licencias.',
      closing: 'Los correos a tus clientes salen de la misma manera.',
    },
    product: 'Producto',
    key: 'Clave de licencia',
    validity: 'Validez',
    forever: 'no caduca',
    until: (date) => `hasta el ${date}`,
    fromFirstUse: (days) => `días desde el primer uso: ${days}`,
    inDays: (days) => (days === 1 ? 'en 1 día' : `en ${days} días`),
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
        subject: 'A sua chave de licença de {product}',
        greeting: 'Olá {name},\n\naqui está a sua chave de licença de {product}.',
        closing: 'Guarde este e-mail e não dê a chave a ninguém.',
      },
      link: {
        subject: 'O seu link para as suas licenças',
        greeting: 'Olá {name},\n\neste link abre as suas licenças.',
        closing: 'Não o pediu? Ignore este e-mail: nada acontece.',
      },
      expiring: {
        subject: 'Expira em {expiry}: {product}',
        greeting: 'Olá {name},\n\nexpira em breve:',
        closing: 'Depois, os programas com uma licença expirada deixam de funcionar.',
      },
    },
    test: {
      subject: 'Teste: os e-mails chegam',
      greeting: 'Olá,\n\neste é um teste das definições do seu serviço de licenças.',
      closing: 'Os e-mails aos seus clientes saem da mesma forma.',
    },
    product: 'Produto',
    key: 'Chave de licença',
    validity: 'Validade',
    forever: 'não expira',
    until: (date) => `até ${date}`,
    fromFirstUse: (days) => `dias a partir do primeiro uso: ${days}`,
    inDays: (days) => (days === 1 ? 'em 1 dia' : `em ${days} dias`),
    others: (count) => (count === 1 ? '1 outro' : `${count} outros`),
    openPage: 'Ver as minhas licenças',
    openLink: 'Abrir as minhas licenças',
    onceOnly: 'O link funciona uma só vez, durante 60 minutos.',
    renew: 'Renovar',
    help: 'Ajuda',
    noMore: 'Não receber mais lembretes',
  },
};
