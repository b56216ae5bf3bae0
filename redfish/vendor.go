package redfish

import "context"

// behaviour is where BMCs differ in what they do. Everything is in base; a
// vendor's type embeds it and overrides a method, with the model, firmware and
// symptom beside it.
type behaviour interface {
	greeter
	reader
	writer
	keeper
	updater
	diagnoser
}

// diagnoser is what differs in diagnostics.
type diagnoser interface {
	// diagnostics lists what can be collected; services are the log services that
	// collect.
	diagnostics(ctx context.Context, c *Client, services []collectService, unread *gaps) []diagnosticWay
	// screen is a picture of the host's screen, as PNG.
	screen(ctx context.Context, c *Client) ([]byte, error)
	// postCode is the last POST code of the host, in hex; "" where the BMC tells none.
	postCode(ctx context.Context, c *Client, host systemDoc) (string, error)
	// postWord is the vendor's own word for how far the host's start is.
	postWord(host systemDoc) string
}

// greeter is what differs in what is told before a login.
type greeter interface {
	// tells takes what the vendor's part of the service root tells of the machine.
	tells(root rootDoc, g *Greeting)
	// named gives the serial in a host name of the form that the factory sets, "" for
	// any other.
	named(host string) (serial string)
}

// keeper is what differs in what is kept.
type keeper interface {
	// ways are what the maker has in a form of its own, and on what each stands.
	ways() []way
	// hardwareLog tells a log of hardware events from the others; owner is
	// "system", "manager", "chassis" or "baseboard".
	hardwareLog(svc logServiceDoc, owner string) bool
	// licences names those that are installed, and the resource that says so, "" where
	// there is none. Never a key.
	licences(ctx context.Context, k *card) (names []string, from link, err error)
}

// reader is what differs in reading.
type reader interface {
	// identify adds what only this vendor reports to the set.
	identify(ctx context.Context, c *Client, host systemDoc, chassis []*chassisDoc, id *Identity)
	// gpus lists the accelerators; procs are the processors of the host.
	gpus(ctx context.Context, c *Client, procs []*processorDoc, chassis []*chassisDoc, unread *gaps) []GPU
	// installed tells a firmware entry that runs from one that is kept aside.
	installed(entry link) bool
	// postDone tells from the vendor's part of the system whether POST is over.
	postDone(host systemDoc) (done, known bool)
}

// updater is what differs in media, firmware, power and the BMC's own port.
type updater interface {
	// socket is the vendor's setting of which socket the BMC uses; port is that of the
	// BMC, an EthernetInterface of manager.
	socket(ctx context.Context, c *Client, port, manager link) (socketMode, error)
	// acReset is the vendor's own way to take the power away from the whole machine;
	// none where its target is "".
	acReset(ctx context.Context, c *Client) (acReset, error)
	// offerMedia makes the BMC list its virtual drives where a setting hides them;
	// it reports whether it did.
	offerMedia(ctx context.Context, c *Client) (bool, error)
	// updating tells how far an update is of which the BMC made no job.
	updating(ctx context.Context, c *Client) (updateState, error)
}

// writer is what differs in changing.
type writer interface {
	// bootMode reports that a boot override must carry its mode.
	bootMode() bool
	// showsEarly reports that pending BIOS values may be shown as if in force, and
	// that the settings object lists only what waits.
	showsEarly() bool
	// uriInBIOS reports that a boot URI is a BIOS setting even where the override
	// shows an HttpBootUri.
	uriInBIOS() bool
	// bootBIOS gives the BIOS attributes for a boot whose URI or network port the
	// override cannot take, and why they are needed; none where there is no such
	// way.
	bootBIOS(ctx context.Context, c *Client, want Boot) (attrs map[string]any, why string, err error)
	// obstacles are the vendor's own of those that Preflight finds.
	obstacles(ctx context.Context, c *Client, host systemDoc) []Obstacle
	// commit makes a job of BIOS values that were staged, where staging alone
	// does nothing. staged is the job that the staging answer named, if any.
	commit(ctx context.Context, c *Client, settings link, staged string) (job string, err error)
	// discard takes back BIOS values that wait for a reset.
	discard(ctx context.Context, c *Client, place biosPlace) error
	// led gives the words of IndicatorLED for a lit and an unlit locator.
	led() (lit, off string)
	// intents are the tables from wishes to attributes, the best known first.
	intents() []intentTable
}
