/**
 * A certificate for `search.example` that nobody but these tests knows, and its key: `openssl req -x509 -newkey ec -pkeyopt
 * ec_paramgen_curve:prime256v1 -nodes -days 36500 -subj "/CN=SeekRL tests" -addext "subjectAltName=DNS:search.example"` of
 * OpenSSL 3.
 */

export const certificate = `-----BEGIN CERTIFICATE-----
MIIBoTCCAUagAwIBAgIUWdtYUOOjkkQe+y+wsst6IO6XuogwCgYIKoZIzj0EAwIw
FzEVMBMGA1UEAwwMU2Vla1JMIHRlc3RzMCAXDTI2MTEyODIwMjk1MFoYDzIxMjYx
MTA0MjAyOTUwWjAXMRUwEwYDVQQDDAxTZWVrUkwgdGVzdHMwWTATBgcqhkjOPQIB
BggqhkjOPQMBBwNCAAQfYRAO5M2JskmJCDWwgi0LJkKh8xqOE2NivnpbJMsSsgMJ
ewrBbQszeCK+ajTynkaXTjfPm/+RzK6ZxjZqBpGeo24wbDAdBgNVHQ4EFgQUz/QH
AAqJKRU1QhEAl4K8oNce9zQwHwYDVR0jBBgwFoAUz/QHAAqJKRU1QhEAl4K8oNce
9zQwDwYDVR0TAQH/BAUwAwEB/zAZBgNVHREEEjAQgg5zZWFyY2guZXhhbXBsZTAK
BggqhkjOPQQDAgNJADBGAiEA8l8a9ZHqqw8zPzvUcRYry2DTM1+RvTQqzbhcKOkt
70wCIQDTe8OQn2RXSBwC9vrYmYLQ9mSWkux8VIhkJku7G+ePEA==
-----END CERTIFICATE-----`;

export const certificateKey = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgpx8Ovp0voFGBoEL6
ihF0+Ge3DpF0GiSJq137wgV/pk2hRANCAAQfYRAO5M2JskmJCDWwgi0LJkKh8xqO
E2NivnpbJMsSsgMJewrBbQszeCK+ajTynkaXTjfPm/+RzK6ZxjZqBpGe
-----END PRIVATE KEY-----`;
