package bucket

import (
	"encoding/xml"
	"errors"
	"io"
	"net/http"
)

// apiError is an error of S3's ("List of error codes" in the S3 API reference).
type apiError struct {
	status        int
	code, message string
}

func (e *apiError) Error() string { return e.code + ": " + e.message }

// The errors of this server.
var (
	errAccessDenied       = &apiError{http.StatusForbidden, "AccessDenied", "The request is not signed."}
	errAccessKey          = &apiError{http.StatusForbidden, "InvalidAccessKeyId", "The access key does not exist here."}
	errSignature          = &apiError{http.StatusForbidden, "SignatureDoesNotMatch", "The signature is not that of this request and secret key."}
	errExpired            = &apiError{http.StatusForbidden, "AccessDenied", "The URL has expired."}
	errSkewed             = &apiError{http.StatusForbidden, "RequestTimeTooSkewed", "The clocks of client and server differ by more than 15 minutes."}
	errUnsignedHeader     = &apiError{http.StatusForbidden, "AccessDenied", "The host and all x-amz- headers must be signed, in order."}
	errMalformedSignature = &apiError{http.StatusBadRequest, "AuthorizationHeaderMalformed", "Expected a signature of version 4 for S3."}

	errMissingLength  = &apiError{http.StatusLengthRequired, "MissingContentLength", "The length of the body is missing."}
	errIncomplete     = &apiError{http.StatusBadRequest, "IncompleteBody", "The body is not of the length or form that its headers give."}
	errContentSHA256  = &apiError{http.StatusBadRequest, "XAmzContentSHA256Mismatch", "The SHA-256 of the body is not the signed one."}
	errBadDigest      = &apiError{http.StatusBadRequest, "BadDigest", "The body does not have the checksum that the request gives."}
	errInvalidDigest  = &apiError{http.StatusBadRequest, "InvalidDigest", "A checksum is not valid."}
	errMalformedXML   = &apiError{http.StatusBadRequest, "MalformedXML", "The body is not the XML of this request."}
	errMetadata       = &apiError{http.StatusBadRequest, "MetadataTooLarge", "The metadata has more than 2 KiB."}
	errKeyTooLong     = &apiError{http.StatusBadRequest, "KeyTooLongError", "A key has 1,024 bytes at most, and 255 between slashes."}
	errInvalidRange   = &apiError{http.StatusRequestedRangeNotSatisfiable, "InvalidRange", "The object has no such bytes."}
	errInvalidPart    = &apiError{http.StatusBadRequest, "InvalidPart", "A part was not uploaded, or has another ETag."}
	errPartOrder      = &apiError{http.StatusBadRequest, "InvalidPartOrder", "The parts are not in ascending order."}
	errTooSmall       = &apiError{http.StatusBadRequest, "EntityTooSmall", "All parts but the last have 5 MiB at least."}
	errPrecondition   = &apiError{http.StatusPreconditionFailed, "PreconditionFailed", "The object does not meet the condition."}
	errNotModified    = &apiError{http.StatusNotModified, "NotModified", ""}
	errNoBucket       = &apiError{http.StatusNotFound, "NoSuchBucket", "The bucket does not exist."}
	errNoKey          = &apiError{http.StatusNotFound, "NoSuchKey", "The object does not exist."}
	errNoUpload       = &apiError{http.StatusNotFound, "NoSuchUpload", "The upload does not exist, or is completed or aborted."}
	errBucketName     = &apiError{http.StatusBadRequest, "InvalidBucketName", "The bucket's name is not valid."}
	errBucketOwned    = &apiError{http.StatusConflict, "BucketAlreadyOwnedByYou", "The bucket exists already."}
	errBucketNotEmpty = &apiError{http.StatusConflict, "BucketNotEmpty", "The bucket holds objects."}
	errIsFolder       = &apiError{http.StatusConflict, "ExistingObjectIsDirectory", "Other keys go on with this key and a slash, which a folder of files can't hold."}
	errParentIsObject = &apiError{http.StatusConflict, "ObjectParentIsFile", "A beginning of this key is an object, which a folder of files can't hold."}
	errNotImplemented = &apiError{http.StatusNotImplemented, "NotImplemented", "The embedded server does not implement this request."}
	errMethod         = &apiError{http.StatusMethodNotAllowed, "MethodNotAllowed", "The method is not allowed here."}
	errInternal       = &apiError{http.StatusInternalServerError, "InternalError", "The server failed. Its log has the reason."}
)

// notSet are the answers to questions for what a bucket can have on S3, and never has here.
var notSet = map[string]*apiError{
	"cors":              {http.StatusNotFound, "NoSuchCORSConfiguration", "Not set."},
	"encryption":        {http.StatusNotFound, "ServerSideEncryptionConfigurationNotFoundError", "Not set."},
	"lifecycle":         {http.StatusNotFound, "NoSuchLifecycleConfiguration", "Not set."},
	"object-lock":       {http.StatusNotFound, "ObjectLockConfigurationNotFoundError", "Not set."},
	"ownershipControls": {http.StatusNotFound, "OwnershipControlsNotFoundError", "Not set."},
	"policy":            {http.StatusNotFound, "NoSuchBucketPolicy", "Not set."},
	"replication":       {http.StatusNotFound, "ReplicationConfigurationNotFoundError", "Not set."},
	"website":           {http.StatusNotFound, "NoSuchWebsiteConfiguration", "Not set."},
}

func invalidArgument(message string) error {
	return &apiError{http.StatusBadRequest, "InvalidArgument", message}
}

// answer returns what the client learns of an error. One that is not of S3's is logged, because the
// client can't interpret it.
func (s *Server) answer(r *http.Request, err error) *apiError {
	var answer *apiError
	if errors.As(err, &answer) {
		return answer
	}
	if r.Context().Err() == nil {
		s.log.ErrorContext(r.Context(), "bucket server: request failed", "request", r.Method+" "+r.URL.Path, "error", err)
	}
	return errInternal
}

// fail answers with an error.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	answer := s.answer(r, err)
	w.Header().Del("Content-Length")
	if r.Method == http.MethodHead || answer.status == http.StatusNotModified {
		w.WriteHeader(answer.status)
		return
	}
	if r.ContentLength > 256<<10 {
		w.Header().Set("Connection", "close") // rather than read the rest of the body
	}
	type document struct {
		XMLName                 xml.Name `xml:"Error"`
		Code, Message, Resource string
		RequestID               string `xml:"RequestId"`
		BucketName, Key         string `xml:",omitempty"`
	}
	bucket, key := split(r)
	writeXML(w, answer.status, document{
		Code: answer.code, Message: answer.message, Resource: r.URL.Path, RequestID: w.Header().Get(requestID), BucketName: bucket, Key: key,
	})
}

// writeXML answers with a document.
func writeXML(w http.ResponseWriter, status int, document any) {
	data, err := xml.Marshal(document)
	if err != nil {
		data, status = nil, http.StatusInternalServerError
	}
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, xml.Header)
	_, _ = w.Write(data) // a client that has disconnected needs no answer
}
