package settings

import "strings"

// Key is the name of a setting: its path in the configuration file, with dots.
type Key string

// The settings.
const (
	Output Key = "output"
	Data   Key = "data"
	Root   Key = "root"
	Inputs Key = "inputs"
	Listen Key = "listen"

	LogFormat Key = "log.format"
	LogLevel  Key = "log.level"

	WorkerFunctions  Key = "worker.functions"
	WorkerClasses    Key = "worker.classes"
	WorkerSlots      Key = "worker.slots"
	WorkerGrace      Key = "worker.grace"
	WorkerWarm       Key = "worker.warm"
	WorkerPythonWarm Key = "worker.python_warm"

	ConsoleListen Key = "console.listen"
	ConsoleHosts  Key = "console.hosts"

	BusContext Key = "nats.context"
	BusURL     Key = "nats.url"
	BusUser    Key = "nats.user"
	BusPass    Key = "nats.password"
	BusToken   Key = "nats.token"
	BusCreds   Key = "nats.creds"
	BusNKey    Key = "nats.nkey"
	BusSeed    Key = "nats.seed"
	BusJWT     Key = "nats.creds_text"
	BusCert    Key = "nats.cert"
	BusKey     Key = "nats.key"
	BusKeyText Key = "nats.key_text"
	BusCA      Key = "nats.ca"
	BusTimeout Key = "nats.timeout"
	BusInbox   Key = "nats.inbox_prefix"
	BusDomain  Key = "nats.jetstream_domain"
	BusFirst   Key = "nats.tls_first"

	StoreProfile  Key = "store.profile"
	StoreEndpoint Key = "store.endpoint"
	StoreRegion   Key = "store.region"
	StoreAccess   Key = "store.access_key"
	StoreSecret   Key = "store.secret_key"
	StoreSession  Key = "store.session_token"
	StoreCA       Key = "store.ca"

	LineageURL       Key = "openlineage.url"
	LineageEndpoint  Key = "openlineage.endpoint"
	LineageKey       Key = "openlineage.api_key"
	LineageNamespace Key = "openlineage.namespace"
	LineageDisabled  Key = "openlineage.disabled"
)

// Setting describes a key.
type Setting struct {
	Key     Key
	Flag    string   // flag that all commands have; "" if there is none
	Env     []string // the first that is set counts
	Default string
	Secret  bool     // never shown
	isPath  bool     // a file or directory: ~ is the home directory
	Says    string   // description for users
	Words   []string // possible values, for completion; nil: any
}

// All returns the settings, in the order in which they are shown.
func All() []Setting {
	return []Setting{
		{Key: Output, Flag: "output", Env: []string{"STOKER_OUTPUT"}, Default: "table", Says: "format of results: table, json or yaml"},
		{Key: Data, Flag: "data", Env: []string{"STOKER_DATA"}, isPath: true, Says: "data folder of the local stack"},
		{Key: Root, Flag: "root", Env: []string{"STOKER_ROOT"}, Default: "s3://stoker", Says: "address below which artifacts are stored"},
		{Key: Inputs, Flag: "inputs", Env: []string{"STOKER_INPUTS"},
			Says: "other addresses that workers may read: s3://uploads/acme,s3://modules; default: all that their credentials permit"},
		{Key: Listen, Env: []string{"STOKER_LISTEN"}, Says: "host:port of /healthz, /readyz and /metrics in long-running commands; :9090 for all addresses of the machine"},
		{Key: LogFormat, Flag: "log-format", Env: []string{"STOKER_LOG_FORMAT"}, Default: "text", Says: "format of log lines: text or json", Words: []string{"text", "json"}},
		{Key: LogLevel, Flag: "log-level", Env: []string{"STOKER_LOG_LEVEL"}, Default: "warn", Says: "minimum level of log lines: debug, info, warn or error", Words: []string{"debug", "info", "warn", "error"}},

		{Key: WorkerFunctions, Env: []string{"STOKER_FUNCTIONS"}, Default: "train,tune,trial", Says: "kinds of jobs that workers claim"},
		{Key: WorkerClasses, Env: []string{"STOKER_CLASSES"}, Default: "cpu", Says: "resource classes of jobs that workers claim"},
		{Key: WorkerSlots, Env: []string{"STOKER_SLOTS"}, Default: "1", Says: "concurrent jobs of a worker, also in up"},
		{Key: WorkerGrace, Env: []string{"STOKER_GRACE"}, Default: "25s", Says: "time for a worker to exit"},
		{Key: WorkerWarm, Env: []string{"STOKER_WARM"}, Default: "1", Says: "warm processes for builtin modules"},
		{Key: WorkerPythonWarm, Env: []string{"STOKER_PYTHON_WARM"}, Says: "how to keep processes for TFX modules warm: fork, idle or off"},

		{Key: ConsoleListen, Env: []string{"STOKER_CONSOLE_LISTEN"}, Default: "127.0.0.1:8790", Says: "address and port of the console's page"},
		{Key: ConsoleHosts, Env: []string{"STOKER_CONSOLE_HOSTS"}, Says: "names of the console in browsers, in addition to loopback"},

		{Key: BusContext, Flag: "context", Env: []string{"NATS_CONTEXT"}, Says: "context of the nats tool, with the bus and credentials"},
		{Key: BusURL, Flag: "nats", Env: []string{"NATS_URL"}, Says: "NATS server; default: the local stack"},
		{Key: BusUser, Env: []string{"NATS_USER"}, Says: "user on the bus"},
		{Key: BusPass, Env: []string{"NATS_PASSWORD"}, Secret: true, Says: "its password"},
		{Key: BusToken, Env: []string{"NATS_TOKEN"}, Secret: true, Says: "token instead of a user"},
		{Key: BusCreds, Flag: "nats-creds", Env: []string{"NATS_CREDS"}, isPath: true, Says: "file with a user's JWT and seed"},
		{Key: BusNKey, Flag: "nats-nkey", Env: []string{"NATS_NKEY"}, isPath: true, Says: "file with a user's nkey seed"},
		{Key: BusSeed, Env: []string{"NATS_SEED"}, Secret: true, Says: "a user's nkey seed itself, instead of a file"},
		{Key: BusJWT, Env: []string{"NATS_CREDS_TEXT"}, Secret: true, Says: "a user's JWT and seed themselves, instead of a file"},
		{Key: BusCert, Flag: "nats-cert", Env: []string{"NATS_CERT"}, isPath: true, Says: "file with a client's certificate for the bus"},
		{Key: BusKey, Flag: "nats-key", Env: []string{"NATS_KEY"}, isPath: true, Says: "file with that certificate's key"},
		{Key: BusKeyText, Env: []string{"NATS_KEY_TEXT"}, Secret: true, Says: "that certificate's key itself (PEM), instead of a file"},
		{Key: BusCA, Flag: "nats-ca", Env: []string{"NATS_CA"}, isPath: true, Says: "file with the certificates to verify the bus"},
		{Key: BusTimeout, Env: []string{"NATS_TIMEOUT"}, Default: "5s", Says: "time limit for answers of the bus"},
		{Key: BusInbox, Flag: "nats-inbox", Env: []string{"NATS_INBOX_PREFIX"}, Says: "inbox prefix, for users that may not subscribe to all of _INBOX"},
		{Key: BusDomain, Env: []string{"NATS_JETSTREAM_DOMAIN"}, Says: "JetStream domain"},
		{Key: BusFirst, Env: []string{"NATS_TLS_FIRST"}, Says: "true: TLS handshake before the server's INFO message"},

		{Key: StoreProfile, Flag: "profile", Env: []string{"AWS_PROFILE", "AWS_DEFAULT_PROFILE"}, Says: "AWS profile, with the store and credentials"},
		{Key: StoreEndpoint, Flag: "s3", Env: []string{"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "MINIO_ENDPOINT"},
			Default: "https://s3.amazonaws.com", Says: "S3 server"},
		{Key: StoreRegion, Env: []string{"AWS_REGION", "AWS_DEFAULT_REGION", "MINIO_REGION"}, Says: "its region"},
		{Key: StoreAccess, Says: "access key", Env: []string{"AWS_ACCESS_KEY_ID", "MINIO_ACCESS_KEY", "MINIO_ROOT_USER"}},
		{Key: StoreSecret, Says: "secret key", Secret: true, Env: []string{"AWS_SECRET_ACCESS_KEY", "MINIO_SECRET_KEY", "MINIO_ROOT_PASSWORD"}},
		{Key: StoreSession, Says: "session token", Secret: true, Env: []string{"AWS_SESSION_TOKEN"}},
		{Key: StoreCA, Flag: "s3-ca", Env: []string{"AWS_CA_BUNDLE"}, isPath: true, Says: "file with the certificates to verify the store"},

		{Key: LineageURL, Env: []string{"OPENLINEAGE__TRANSPORT__URL", "OPENLINEAGE_URL"}, Says: "receiver of OpenLineage events, for lineage export"},
		{Key: LineageEndpoint, Env: []string{"OPENLINEAGE__TRANSPORT__ENDPOINT", "OPENLINEAGE_ENDPOINT"}, Says: "path of the receiver; default: api/v1/lineage"},
		{Key: LineageKey, Env: []string{"OPENLINEAGE_API_KEY"}, Secret: true, Says: "API key of the receiver"},
		{Key: LineageNamespace, Env: []string{"OPENLINEAGE_NAMESPACE"}, Default: "stoker", Says: "namespace of jobs in its events"},
		{Key: LineageDisabled, Env: []string{"OPENLINEAGE_DISABLED"}, Says: "true: send no events"},
	}
}

// setting returns the setting of a key.
func setting(key Key) (Setting, bool) {
	for _, s := range All() {
		if s.Key == key {
			return s, true
		}
	}
	return Setting{}, false
}

// Help returns the help of a flag: its description, and the variables that also set it.
func (s Setting) Help() string {
	if len(s.Env) == 0 {
		return s.Says
	}
	return s.Says + " (" + strings.Join(s.Env, ", ") + ")"
}
