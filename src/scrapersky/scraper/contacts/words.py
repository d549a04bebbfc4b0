"""Word lists: role mailboxes, placeholder addresses and example domains."""

from __future__ import annotations


def split_words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ROLE_WORDS = split_words(
    """
    abuse academy accounting accounts administration admin adm all apply billing board
    booking bookings business buero buro career careers center central client clients club
    commercial company compliance contact contacts contactus customer customercare
    customerservice customersupport data dataprotection desk dev director dpo editor
    education email enquiries enquiry events export feedback finance foundation frontdesk
    gdpr general hallo hello help helpdesk hey hi hola home hostmaster hotel hr info infos
    information inbox inquiries inquiry investor investors it jobs kontakt lab legal mail
    mailbox mailer management manager marketing media membership news newsletter noreply
    no-reply office offices operations order orders partner partners payments people
    postmaster post praxis press privacy procurement production project projects purchase
    purchasing pr reception recruiting recruitment register registration rental reservation
    reservations returns root sales school secretariat secretary security service services
    shipping shop signup spam staff stay store studio subscribe success support team tech
    technical tickets tours travel ventas visit web webmaster welcome work anfrage anfragen
    angebot auskunft beratung bestellung bewerbung bewerbungen buchhaltung buchung
    datenschutz datenschutzbeauftragter dsb einkauf empfang geschaeftsstelle gf
    hausverwaltung impressum kanzlei karriere kasse kundenservice kundendienst leitung
    mitglieder personal poststelle presse rechnung redaktion reservierung sekretariat stelle
    vertrieb verein verkauf versand verwaltung vorstand werkstatt zentrale accueil achats
    adhesion administratif agence atelier billetterie boutique commande commandes
    communication compta comptabilite contactez direction devis emploi formation mairie rdv
    recrutement rgpd sav secretaire siege vente ventes administracion atencion
    atencionalcliente ayuda clientes comercial compras consultas contacto correo
    cotizaciones empleo facturacion gerencia informacion pedidos prensa recepcion reservas
    rrhh secretaria soporte tienda acquisti amministrazione assistenza clienti commerciale
    contabilita contatti contatto direzione fatturazione informazioni lavoro negozio ordini
    prenotazioni preventivi segreteria ufficio vendite ajuda atendimento contato encomendas
    financeiro geral loja orcamento orcamentos recepcao rh suporte vagas vendas
    administratie afspraak algemeen balie bestellingen bestuur boekhouding directie inkoop
    klantenservice ledenadministratie receptie redactie reserveren secretariaat vacatures
    verkoop vragen winkel biuro dzial faktury handlowy kadry kancelaria ksiegowosc obsluga
    poczta praca recepcja redakcja rekrutacja rezerwacje serwis sklep sprzedaz zamowienia
    zapytania bokning butik ekonomi faktura fakturor forsaljning jobb kansli kundservice
    kundtjanst ordrar redaktionen styrelsen vaxel bestilling bogholderi butikken henvendelse
    hovedkontor kontor kundeservice ordre regnskab salg sekretariatet dotazy ekonom
    fakturace informace kancelar kariera objednavky obchod podatelna podpora poptavka prodej
    rezervace recepce redakce servis uctarna basin bilgi destek iletisim ik kariyer muhasebe
    musteri musterihizmetleri pazarlama rezervasyon satis siparis teknik yonetim
    """
)
"""In the supported languages: en, de, fr, es, it, pt, nl, pl, sv, da, cs, tr."""

RESERVED_DOMAINS = split_words("example.com example.org example.net example.edu")
"""Reserved by RFC 2606; mailboxes cannot exist there."""

EXAMPLE_DOMAINS = split_words(
    """
    example.com example.org example.net example.edu example.de example.fr example.co.uk
    domain.com domain.org domain.net domain.de email.com mail.com company.com website.com
    test.com test.de site.com business.com address.com sample.com beispiel.de exemple.com
    exemple.fr ejemplo.com ejemplo.es esempio.it esempio.com exemplo.com exemplo.com.br
    voorbeeld.nl przyklad.pl exempel.se eksempel.dk priklad.cz ornek.com
    """
)
"""Domains used as examples. Addresses there get a low confidence, and are rejected if the local
part is a placeholder, too.
"""

PLACEHOLDER_DOMAINS = split_words(
    """
    yourdomain yoursite yourcompany yourwebsite yourstore yourbusiness youremail yourmail
    your-domain your-site your-company your-website your-email mydomain mysite mycompany
    mywebsite domainname websitename companyname sitename somedomain somesite anydomain
    untitled demolink ihredomain ihre-domain ihrefirma ihre-firma ihre-website deinedomain
    deine-domain musterfirma mustermail musterdomain votredomaine votre-domaine votresite
    votre-site monsite mondomaine tudominio tu-dominio tusitio tuempresa sudominio midominio
    tuodominio tuosito ilmiosito seudominio seusite suaempresa meudominio uwdomein
    jouwdomein jouwbedrijf uwbedrijf twojadomena twojafirma dindoman dinforetag ditdomaene
    ditfirma vasedomena alanadiniz siteniz
    """
)
"""Registered labels of domains that themes and site builders leave for the owner to replace."""

PLACEHOLDER_NAMES = split_words(
    """
    your yourname your.name your-name your_name youremail your.email your-email your_email
    yourmail your-mail yourusername firstname.lastname first.last firstname.surname
    firstname_lastname firstinitiallastname first_last flastname name.surname name.lastname
    vorname.nachname v.nachname vornamenachname name.nachname ihre.email ihre-email ihremail
    ihrname ihr.name deine.email deine-email max.mustermann erika.mustermann prenom.nom
    prenomnom votre.email votre-email votreemail votre.nom votrenom votreadresse
    nombre.apellido nombreapellido tucorreo tu.correo tu-correo tuemail sucorreo su.correo
    nome.cognome nomecognome tuaemail latuaemail tua.email nome.sobrenome nome.apelido
    seuemail seu.email seu-email voornaam.achternaam uwemail uw.email jouwemail jouw.email
    imie.nazwisko twojemail twoj.email fornamn.efternamn dinepost din.epost
    fornavn.efternavn dinemail din.email jmeno.prijmeni vasemail vas.email ad.soyad
    isim.soyisim adiniz epostaniz xxx xxxx xxxxx
    """
)
"""Local parts that are placeholders at any domain."""

PLACEHOLDER_NAMES_AT_EXAMPLES = split_words(
    """
    you name username user.name someone somebody example sample placeholder me myname
    my.name mymail myemail my.email mail.address emailaddress email.address beispiel exemple
    ejemplo esempio exemplo nom nombre nome naam imie namn navn jmeno isim abc xyz
    """
)
"""Local parts that are placeholders only at an example domain."""

PLACEHOLDER_ADDRESSES = split_words(
    """
    filler@godaddy.com email@address.com john@doe.com jane@doe.com johndoe@gmail.com a@b.com
    a@a.com abc@xyz.com abc@gmail.com xyz@gmail.com name@gmail.com user@gmail.com
    example@gmail.com yourname@gmail.com test@test.com test@gmail.com demo@demo.com
    git@github.com git@gitlab.com git@bitbucket.org
    info@template.com max@mustermann.de impallari@gmail.com hello@colorlib.com
    """
)
"""Defaults of site builders and forms, and authors credited in widely embedded fonts."""

MACHINE_DOMAINS = (".sentry.io", ".wixpress.com", ".sentry-cdn.com", ".bugsnag.com", ".rollbar.com")
"""Error reporting services, whose keys look like addresses."""
