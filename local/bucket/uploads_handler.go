package bucket

import (
	"encoding/xml"
	"net/http"
	"strconv"
	"time"
)

// serveUpload answers requests for an object that is sent in parts.
func (s *Server) serveUpload(w http.ResponseWriter, r *request) error {
	if r.query.Has("uploads") {
		if r.Method != http.MethodPost {
			return errMethod
		}
		return s.createUpload(w, r)
	}
	u, err := s.files.uploadOf(r.query.Get("uploadId"), r.bucket, r.key)
	if err != nil {
		// A repeated request: the answer to the first one was lost.
		if o := s.completed.of(r); r.Method == http.MethodPost && o != "" {
			return s.answerComplete(w, r, o)
		}
		return err
	}
	switch r.Method {
	case http.MethodPut:
		return s.uploadPart(w, r, u)
	case http.MethodPost:
		return s.completeUpload(w, r, u)
	case http.MethodDelete:
		if err := s.files.abort(u.ID); err != nil {
			return err
		}
		w.WriteHeader(http.StatusNoContent)
		return nil
	case http.MethodGet:
		return s.listParts(w, r, u)
	}
	return errMethod
}

func (s *Server) createUpload(w http.ResponseWriter, r *request) error {
	o, err := newObject(r.Header)
	if err != nil {
		return err
	}
	id, err := s.files.beginUpload(upload{Bucket: r.bucket, Key: r.key, Initiated: time.Now().UTC(), Object: *o})
	if err != nil {
		return err
	}
	type document struct {
		XMLName               xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ InitiateMultipartUploadResult"`
		Bucket, Key, UploadId string
	}
	writeXML(w, http.StatusOK, document{Bucket: r.bucket, Key: r.key, UploadId: id})
	return nil
}

func (s *Server) uploadPart(w http.ResponseWriter, r *request, u *upload) error {
	number, err := strconv.Atoi(r.query.Get("partNumber"))
	if err != nil || number < 1 || number > maxParts {
		return invalidArgument("partNumber must be from 1 to 10000.")
	}
	source := r.Header.Get(copySource)
	var received *received
	if source != "" {
		received, err = s.receiveCopy(r, source, r.Header.Get(copySource+"-Range"))
	} else {
		received, err = s.receive(r)
	}
	if err != nil {
		return err
	}
	defer received.discard()
	p := part{number: number, etag: received.etag}
	if err := s.files.addPart(u.ID, p, received.name); err != nil {
		return err
	}
	if source != "" {
		writeCopyResult(w, "CopyPartResult", p.etag, time.Now())
		return nil
	}
	w.Header().Set("Etag", quoted(p.etag))
	return nil
}

func (s *Server) completeUpload(w http.ResponseWriter, r *request, u *upload) error {
	body, err := newPayload(r.Request, r.signature) // a checksum in its header is the object's
	if err != nil {
		return err
	}
	var asked struct{ Part []wantedPart }
	if err := body.decodeXML(&asked); err != nil {
		return err
	}
	cond, err := writeCondition(r.Header)
	if err != nil {
		return err
	}
	o, err := s.files.complete(r.Context(), u, asked.Part, cond)
	if err != nil {
		return err
	}
	s.completed.add(r, o.ETag)
	if err := s.created(r.Context(), r.bucket, r.key, o); err != nil {
		return err
	}
	return s.answerComplete(w, r, o.ETag)
}

func (s *Server) answerComplete(w http.ResponseWriter, r *request, etag string) error {
	type document struct {
		XMLName                     xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ CompleteMultipartUploadResult"`
		Location, Bucket, Key, ETag string
	}
	writeXML(w, http.StatusOK, document{Location: s.endpoint + r.URL.Path, Bucket: r.bucket, Key: r.key, ETag: quoted(etag)})
	return nil
}

func (s *Server) listParts(w http.ResponseWriter, r *request, u *upload) error {
	most, err := r.number("max-parts", maxKeys)
	if err != nil {
		return err
	}
	after, err := strconv.Atoi(r.query.Get("part-number-marker"))
	if err != nil {
		after = 0
	}
	parts, err := s.files.parts(u.ID)
	if err != nil {
		return err
	}
	type listedPart struct {
		PartNumber         int
		LastModified, ETag string
		Size               int64
	}
	type document struct {
		XMLName                                          xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ ListPartsResult"`
		Bucket, Key, UploadId, StorageClass              string
		PartNumberMarker, NextPartNumberMarker, MaxParts int
		IsTruncated                                      bool
		Part                                             []listedPart
	}
	d := document{Bucket: r.bucket, Key: r.key, UploadId: u.ID, StorageClass: "STANDARD", PartNumberMarker: after, MaxParts: most}
	for _, p := range parts {
		if p.number <= after {
			continue
		}
		if d.IsTruncated = len(d.Part) == most; d.IsTruncated {
			break
		}
		d.Part = append(d.Part, listedPart{p.number, p.modified.UTC().Format(xmlTime), quoted(p.etag), p.size})
		d.NextPartNumberMarker = p.number
	}
	writeXML(w, http.StatusOK, d)
	return nil
}

func (s *Server) listUploads(w http.ResponseWriter, r *request) error {
	most, err := r.number("max-uploads", maxKeys)
	if err != nil {
		return err
	}
	uploads, err := s.files.uploads(r.bucket, r.query.Get("prefix"))
	if err != nil {
		return err
	}
	type listedUpload struct{ Key, UploadId, Initiated, StorageClass string }
	type document struct {
		XMLName                           xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ ListMultipartUploadsResult"`
		Bucket, Prefix                    string
		KeyMarker, UploadIdMarker         string
		NextKeyMarker, NextUploadIdMarker string `xml:",omitempty"`
		EncodingType                      string `xml:",omitempty"`
		MaxUploads                        int
		IsTruncated                       bool
		Upload                            []listedUpload
	}
	text := func(s string) string { return s }
	if r.query.Get("encoding-type") == "url" {
		text = func(s string) string { return escape(s, true) }
	}
	key, id := r.query.Get("key-marker"), r.query.Get("upload-id-marker")
	d := document{
		Bucket: r.bucket, Prefix: text(r.query.Get("prefix")), KeyMarker: text(key), UploadIdMarker: id, EncodingType: r.query.Get("encoding-type"),
		MaxUploads: most,
	}
	for _, u := range uploads {
		if u.Key < key || (u.Key == key && (id == "" || u.ID <= id)) {
			continue
		}
		if d.IsTruncated = len(d.Upload) == most; d.IsTruncated {
			break
		}
		d.Upload = append(d.Upload, listedUpload{text(u.Key), u.ID, u.Initiated.Format(xmlTime), "STANDARD"})
		d.NextKeyMarker, d.NextUploadIdMarker = text(u.Key), u.ID
	}
	if !d.IsTruncated {
		d.NextKeyMarker, d.NextUploadIdMarker = "", ""
	}
	writeXML(w, http.StatusOK, d)
	return nil
}
